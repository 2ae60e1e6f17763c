// The form that starts a run: request, flow, model and limits.

import { startRun } from "../api.ts";
import type { Problem } from "../problem.ts";
import { go } from "../router.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Field, Form, TextArea, TextField } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { type Draft, draft, EMPTY, forgetKey, idempotencyKey, submissionOf } from "./draft.ts";

const FLOWS = [["work-order", "Work order"]] as const;

const POLICIES = [
  ["", "Default"],
  ["ask", "Ask for approval"],
  ["auto", "Call without asking"],
  ["never", "Refuse"],
] as const;

export function Composer() {
  const typed = draft.value;
  const change = (name: keyof Draft) => (value: string | boolean) => {
    draft.value = { ...draft.peek(), [name]: value };
  };
  const starting = useAction(async () => {
    const run = submissionOf(draft.peek());
    if (!run.request) {
      document.querySelector<HTMLElement>(".composer textarea")?.focus();
      return;
    }
    const started = await startRun(run, idempotencyKey(run));
    forgetKey();
    draft.value = { ...EMPTY, model: typed.model, offline: typed.offline };
    go(`/runs/${started.run_id}`);
  });
  /** Connect a field of the draft to its control; `at` names it in the errors of the service. */
  const field = (name: Exclude<keyof Draft, "offline">, at: string = name) => ({
    error: starting.problem?.errorAt(at),
    value: typed[name],
    onInput: change(name),
  });
  return (
    <Form
      class="composer panel"
      aria-label="New run"
      onSubmit={starting.run}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          starting.run();
        }
      }}
    >
      <TextArea
        label="Request"
        fieldClass="request"
        rows={2}
        required
        placeholder="Weather in Paris tomorrow, and how to get from the Louvre to Orly airport"
        {...field("request")}
      />
      <div class="composer-row">
        <Choice label="Flow" choices={FLOWS} {...field("flow")} />
        <TextField
          label="Model"
          disabled={typed.offline}
          placeholder={typed.offline ? "built-in" : "Default"}
          spellcheck={false}
          autocomplete="off"
          {...field("model")}
          value={typed.offline ? "" : typed.model}
        />
        <Amount label="Budget (US$)" min="0" step="any" {...field("budget", "limits.budget")} />
        <label class="check">
          <input
            type="checkbox"
            checked={typed.offline}
            onChange={(event) => change("offline")(event.currentTarget.checked)}
          />
          <span>
            Offline <span class="muted small">built-in model and sample data</span>
          </span>
        </label>
        <Button type="submit" kind="primary" busy={starting.busy} title="Ctrl+Enter">Start</Button>
      </div>
      <details class="limits" open={isHidden(starting.problem) || undefined}>
        <summary>Limits</summary>
        <div class="limits-fields">
          <Amount
            label="Max. work orders"
            hint="repairs included"
            {...field("maxSteps", "limits.max_steps")}
          />
          <Amount label="Max. parallel workers" {...field("maxWorkers", "limits.max_workers")} />
          <Amount
            label="Batch size"
            hint="empty: no batches"
            {...field("batchSize", "limits.batch_size")}
          />
          <Amount label="Timeout (seconds)" step="any" {...field("timeout", "limits.timeout")} />
          <Choice label="Irreversible calls" choices={POLICIES} {...field("approve")} />
        </div>
      </details>
      <ProblemNote problem={starting.problem} />
    </Form>
  );
}

interface AmountProps {
  readonly label: string;
  readonly hint?: string;
  readonly error: string | null | undefined;
  readonly value: string;
  readonly min?: string;
  readonly step?: string;
  readonly onInput: (value: string) => void;
}

/** An optional number. */
function Amount(props: AmountProps) {
  return (
    <TextField
      type="number"
      inputMode="decimal"
      min="1"
      step="1"
      placeholder="Default"
      {...props}
    />
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly error: string | null | undefined;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  readonly onInput: (value: string) => void;
}

function Choice({ label, error, value, choices, onInput }: ChoiceProps) {
  return (
    <Field label={label} error={error}>
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

/** Return whether an error is at a field that may be hidden under "Limits". */
function isHidden(problem: Problem | null): boolean {
  return problem?.errors.some(({ where }) =>
    where === "body.approve" || where.startsWith("body.limits.") && where !== "body.limits.budget"
  ) ?? false;
}
