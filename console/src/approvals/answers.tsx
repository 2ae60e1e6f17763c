// The answers that take a few words: other arguments, a reason for a no, what a call that happened came to.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Json, JsonObject } from "../json.ts";
import { exactJson } from "../formats.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";

interface Asking<Told> {
  readonly busy: boolean;
  readonly onSend: (told: Told) => void;
  readonly onBack: () => void;
}

/** An object from what was typed, or what is wrong with it. */
export function objectFrom(written: string): { readonly value: JsonObject } | { wrong: string } {
  let value: Json;
  try {
    value = JSON.parse(written) as Json;
  } catch (error) {
    return { wrong: `This is no JSON: ${(error as Error).message}` };
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { value }
    : { wrong: "Arguments are an object: names and values between { and }." };
}

/** All arguments as JSON, to be changed; what was typed stays when the service refuses it. */
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
      <Field label="Call it with these arguments instead" hint="JSON, all of them" wrong={wrong}>
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
        <Button type="submit" kind="primary" busy={busy}>Approve with these</Button>
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
        label={`Why should ${tool} not be called?`}
        hint="The lead is told, and plans around it. It may be left empty."
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
        const told: { summary?: string; raw?: Json } = {};
        if (summary.trim()) told.summary = summary.trim();
        if (raw.trim()) {
          try {
            told.raw = JSON.parse(raw) as Json;
          } catch (error) {
            setWrong(`This is no JSON: ${(error as Error).message}`);
            return;
          }
        }
        setWrong(null);
        onSend(told);
      }}
    >
      <Field
        label="What did it come to?"
        hint="The worker goes on with this. It may be left empty."
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
      <Field label="The same as data" hint="JSON; may be left empty" wrong={wrong}>
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
        <Button type="submit" kind="primary" busy={busy}>It happened</Button>
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
