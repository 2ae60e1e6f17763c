// The answers that need input: other arguments, a reason to deny, the result of a call that happened.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { exactJson } from "../formats.ts";
import { type Json, type JsonObject, parseJson, parseObject } from "../json.ts";
import { Button } from "../ui/button.tsx";
import { Form, JsonArea, TextArea, TextField, useInitialFocus, useText } from "../ui/field.tsx";

interface AnswerProps<Answer> {
  readonly busy: boolean;
  readonly onSend: (answer: Answer) => void;
  readonly onBack: () => void;
}

/** A form to change all arguments as JSON; the text stays when the service refuses it. */
export function EditForm(
  { args, busy, onSend, onBack }: AnswerProps<JsonObject> & { args: object },
) {
  const text = useText(exactJson(args));
  const [error, setError] = useState("");
  const field = useInitialFocus<HTMLTextAreaElement>();
  function submit(): void {
    const parsed = parseObject(text.value);
    setError("error" in parsed ? parsed.error : "");
    if ("error" in parsed) field.current?.focus();
    else onSend(parsed.value);
  }
  return (
    <AnswerForm action="Approve changes" busy={busy} onSubmit={submit} onBack={onBack}>
      <JsonArea
        label="Arguments"
        hint="JSON object"
        error={error}
        ref={field}
        rows={Math.min(20, text.value.split("\n").length + 1)}
        {...text}
      />
    </AnswerForm>
  );
}

export function DenyForm({ tool, busy, onSend, onBack }: AnswerProps<string> & { tool: string }) {
  const reason = useText();
  const field = useInitialFocus<HTMLInputElement>();
  return (
    <AnswerForm
      action="Deny"
      danger
      busy={busy}
      onSubmit={() => onSend(reason.value.trim())}
      onBack={onBack}
    >
      <TextField
        label="Reason (optional)"
        hint={`The model sees why ${tool} was denied.`}
        ref={field}
        {...reason}
      />
    </AnswerForm>
  );
}

export function HappenedForm(
  { busy, onSend, onBack }: AnswerProps<{ summary?: string; raw?: Json }>,
) {
  const summary = useText();
  const data = useText();
  const [error, setError] = useState("");
  const field = useInitialFocus<HTMLTextAreaElement>();
  function submit(): void {
    const parsed = data.value.trim() ? parseJson(data.value) : null;
    setError(parsed && "error" in parsed ? parsed.error : "");
    if (parsed && "error" in parsed) return;
    onSend({
      ...(summary.value.trim() && { summary: summary.value.trim() }),
      ...(parsed && { raw: parsed.value }),
    });
  }
  return (
    <AnswerForm action="Confirm" busy={busy} onSubmit={submit} onBack={onBack}>
      <TextArea
        label="Result (optional)"
        hint="The worker continues with this result."
        ref={field}
        rows={2}
        {...summary}
      />
      <JsonArea label="Data (optional)" hint="JSON" error={error} rows={2} {...data} />
    </AnswerForm>
  );
}

interface AnswerFormProps {
  readonly action: string;
  readonly danger?: boolean;
  readonly busy: boolean;
  readonly onSubmit: () => void;
  readonly onBack: () => void;
  readonly children: ComponentChildren;
}

/** The fields of an answer with its buttons; Escape goes back. */
function AnswerForm({ action, danger, busy, onSubmit, onBack, children }: AnswerFormProps) {
  return (
    <Form
      class="answer"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        onBack();
      }}
      onSubmit={onSubmit}
    >
      {children}
      <div class="buttons">
        <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy}>{action}</Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </Form>
  );
}
