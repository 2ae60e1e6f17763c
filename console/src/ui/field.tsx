// Form fields: a label, the control, a hint and an error, connected for assistive technology.

import type { ComponentChildren, ComponentProps } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Described {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: true;
}

interface LabelProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly error?: string | null;
  readonly fieldClass?: string;
}

interface FieldProps extends LabelProps {
  /** The control, given the attributes that connect it to its label, hint and error. */
  readonly children: (described: Described) => ComponentChildren;
}

export function Field({ label, hint, error, fieldClass = "", children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class={`field ${fieldClass}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described && { "aria-describedby": described }),
        ...(error && { "aria-invalid": true as const }),
      })}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          <span aria-hidden="true">▲</span> {error}
        </p>
      )}
    </div>
  );
}

type TextProps<Tag extends "input" | "textarea"> =
  & LabelProps
  & Omit<ComponentProps<Tag>, "label" | "onInput" | "type" | "role" | "list">
  & { readonly value: string; readonly onInput: (value: string) => void };

export function TextField(
  { label, hint, error, fieldClass, onInput, type = "text", ...input }: TextProps<"input"> & {
    type?: "text" | "number" | "password";
  },
) {
  return (
    <Field label={label} hint={hint} error={error} fieldClass={fieldClass}>
      {(described) => (
        <input
          {
            // Preact's types allow other attributes for each type.
            ...{ ...input, ...described, type } as ComponentProps<"input">
          }
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextArea(
  { label, hint, error, fieldClass, onInput, ...textarea }: TextProps<"textarea">,
) {
  return (
    <Field label={label} hint={hint} error={error} fieldClass={fieldClass}>
      {(described) => (
        <textarea
          dir="auto"
          {...textarea}
          {...described}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ChoiceProps extends LabelProps {
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  readonly onInput: (value: string) => void;
}

export function Choice({ label, hint, error, fieldClass, value, choices, onInput }: ChoiceProps) {
  return (
    <Field label={label} hint={hint} error={error} fieldClass={fieldClass}>
      {(described) => (
        <select
          {...described}
          value={value}
          onChange={(event) => onInput(event.currentTarget.value)}
        >
          {choices.map(([name, text]) => <option key={name} value={name}>{text}</option>)}
        </select>
      )}
    </Field>
  );
}

/** A text area for JSON. */
export function JsonArea(props: TextProps<"textarea">) {
  return <TextArea {...props} class="code" spellcheck={false} />;
}

/** Keep what is typed into a text field, and return the attributes that connect the field to it. */
export function useText(initial = "") {
  const [value, onInput] = useState(initial);
  return { value, onInput };
}

/** Return a reference to a control that gets the focus as soon as it is on the page. */
export function useInitialFocus<Control extends HTMLElement>() {
  const control = useRef<Control>(null);
  useLayoutEffect(() => control.current?.focus(), []); // before another key can go elsewhere
  return control;
}

/** A form that calls `onSubmit` instead of loading a page; Ctrl+Enter submits it from every field. */
export function Form(
  { onSubmit, ...form }: Omit<ComponentProps<"form">, "onSubmit"> & { onSubmit: () => void },
) {
  return (
    <form
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    />
  );
}
