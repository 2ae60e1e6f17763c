// The answers that need input: other arguments, a reason to deny, the result of a call that happened.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Json, JsonObject } from "../json.ts";
import { exactJson } from "../formats.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";

interface Asking<Given> {
  readonly busy: boolean;
  readonly onSend: (given: Given) => void;
  readonly onBack: () => void;
}

/** Return the object that was typed, or what is wrong with the text. */
export function objectFrom(written: string): { readonly value: JsonObject } | { wrong: string } {
  let value: Json;
  try {
    value = JSON.parse(written) as Json;
  } catch (error) {
    return { wrong: `Not valid JSON: ${(error as Error).message}` };
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { value }
    : { wrong: "Write a JSON object: { … }" };
}

/** A form to change all arguments as JSON; the text stays when the service refuses it. */
export function Editing({ args, busy, onSend, onBack }: Asking<JsonObject> & { args: object }) {
  const [written, setWritten] = useState(() => exactJson(args));
  const [wrong, setWrong] = useState<string | null>(null);
  const field = useFocused<HTMLTextAreaElement>();
  return (
    <form
      class="answer"
      onKeyDown={leavingBy(onBack)}
      onSubmit={(event) => {
        event.preventDefault();
        const read = objectFrom(written);
        if ("wrong" in read) {
          setWrong(read.wrong);
          field.current?.focus();
        } else {
          setWrong(null);
          onSend(read.value);
        }
      }}
    >
      <Field label="Arguments" hint="JSON object" wrong={wrong}>
        {(described) => (
          <textarea
            {...described}
            ref={field}
            class="code"
            rows={Math.min(20, written.split("\n").length + 1)}
            spellcheck={false}
            value={written}
            onInput={(event) => setWritten(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="buttons">
        <Button type="submit" kind="primary" busy={busy}>Approve changes</Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}

export function Denying({ tool, busy, onSend, onBack }: Asking<string> & { tool: string }) {
  const [reason, setReason] = useState("");
  const field = useFocused<HTMLInputElement>();
  return (
    <form
      class="answer"
      onKeyDown={leavingBy(onBack)}
      onSubmit={(event) => {
        event.preventDefault();
        onSend(reason.trim());
      }}
    >
      <Field
        label="Reason (optional)"
        hint={`The model sees why ${tool} was denied.`}
      >
        {(described) => (
          <input
            {...described}
            ref={field}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="buttons">
        <Button type="submit" kind="danger" busy={busy}>Deny</Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}

export function Happened({ busy, onSend, onBack }: Asking<{ summary?: string; raw?: Json }>) {
  const [summary, setSummary] = useState("");
  const [raw, setRaw] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const field = useFocused<HTMLTextAreaElement>();
  return (
    <form
      class="answer"
      onKeyDown={leavingBy(onBack)}
      onSubmit={(event) => {
        event.preventDefault();
        const result: { summary?: string; raw?: Json } = {};
        if (summary.trim()) result.summary = summary.trim();
        if (raw.trim()) {
          try {
            result.raw = JSON.parse(raw) as Json;
          } catch (error) {
            setWrong(`Not valid JSON: ${(error as Error).message}`);
            return;
          }
        }
        setWrong(null);
        onSend(result);
      }}
    >
      <Field
        label="Result (optional)"
        hint="The worker continues with this result."
      >
        {(described) => (
          <textarea
            {...described}
            ref={field}
            rows={2}
            value={summary}
            onInput={(event) => setSummary(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Data (optional)" hint="JSON" wrong={wrong}>
        {(described) => (
          <textarea
            {...described}
            class="code"
            rows={2}
            spellcheck={false}
            value={raw}
            onInput={(event) => setRaw(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="buttons">
        <Button type="submit" kind="primary" busy={busy}>Confirm</Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </form>
  );
}

function useFocused<T extends HTMLElement>() {
  const field = useRef<T>(null);
  useLayoutEffect(() => field.current?.focus(), []); // before another key can go elsewhere
  return field;
}

function leavingBy(onBack: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onBack();
  };
}
