// A search field. Its text is applied once the person pauses; a change of the applied text shows in the field.

import type { ComponentProps } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const DEBOUNCE_MS = 200;

interface SearchFieldProps
  extends Omit<ComponentProps<"input">, "value" | "onChange" | "type" | "role" | "list"> {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

export function SearchField({ value, onChange, ...input }: SearchFieldProps) {
  const [text, setText] = useState(value);
  const applied = useRef(value);
  useEffect(() => {
    if (value === applied.current) return;
    applied.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === applied.current) return;
    const timer = setTimeout(() => {
      applied.current = text;
      onChange(text);
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      {...input}
      type="search"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}
