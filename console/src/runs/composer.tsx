// The form that starts a run: request, flow, model and limits.

import { startRun } from "../api.ts";
import type { Problem } from "../problem.ts";
import { go } from "../router.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { type Draft, draft, EMPTY, keyOf, newRunOf, spent } from "./draft.ts";

const FLOWS = [["work-order", "Work order"]] as const;

const POLICIES = [
  ["", "Default"],
  ["ask", "Ask for approval"],
  ["auto", "Call without asking"],
  ["never", "Refuse"],
] as const;

export function Composer() {
  const written = draft.value;
  const change = (changes: Partial<Draft>) => {
    draft.value = { ...draft.peek(), ...changes };
  };
  const starting = useAction(async () => {
    const run = newRunOf(draft.peek());
    if (!run.request) {
      document.querySelector<HTMLElement>(".composer textarea")?.focus();
      return;
    }
    const started = await startRun(run, keyOf(run));
    spent();
    draft.value = { ...EMPTY, model: written.model, offline: written.offline };
    go(`/runs/${started.run_id}`);
  });
  const wrong = (name: string) => wrongAt(starting.problem, `body.${name}`);
  return (
    <form
      class="composer panel"
      aria-label="New run"
      onSubmit={(event) => {
        event.preventDefault();
        starting.run();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          starting.run();
        }
      }}
    >
      <Field label="Request" class="request" wrong={wrong("request")}>
        {(described) => (
          <textarea
            {...described}
            rows={2}
            required
            value={written.request}
            placeholder="Weather in Paris tomorrow, and how to get from the Louvre to Orly airport"
            onInput={(event) => change({ request: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class="composer-row">
        <Field label="Flow" wrong={wrong("flow")}>
          {(described) => (
            <select
              {...described}
              value={written.flow}
              onChange={(event) => change({ flow: event.currentTarget.value })}
            >
              {FLOWS.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
            </select>
          )}
        </Field>
        <Field label="Model" wrong={wrong("model")}>
          {(described) => (
            <input
              {...described}
              value={written.offline ? "" : written.model}
              disabled={written.offline}
              placeholder={written.offline ? "built-in" : "Default"}
              spellcheck={false}
              autocomplete="off"
              onInput={(event) => change({ model: event.currentTarget.value })}
            />
          )}
        </Field>
        <Amount
          label="Budget (US$)"
          value={written.budget}
          placeholder="Default"
          min="0"
          step="any"
          wrong={wrong("limits.budget")}
          onInput={(budget) => change({ budget })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={written.offline}
            onChange={(event) => change({ offline: event.currentTarget.checked })}
          />
          <span>
            Offline <span class="muted small">built-in model and sample data</span>
          </span>
        </label>
        <Button type="submit" kind="primary" busy={starting.busy} title="Ctrl+Enter">Start</Button>
      </div>
      <details class="limits" open={hidden(starting.problem) || undefined}>
        <summary>Limits</summary>
        <div class="limits-fields">
          <Amount
            label="Max. work orders"
            hint="repairs included"
            value={written.maxSteps}
            wrong={wrong("limits.max_steps")}
            onInput={(maxSteps) => change({ maxSteps })}
          />
          <Amount
            label="Max. parallel workers"
            value={written.maxWorkers}
            wrong={wrong("limits.max_workers")}
            onInput={(maxWorkers) => change({ maxWorkers })}
          />
          <Amount
            label="Batch size"
            hint="empty: no batches"
            value={written.batchSize}
            wrong={wrong("limits.batch_size")}
            onInput={(batchSize) => change({ batchSize })}
          />
          <Amount
            label="Timeout (seconds)"
            value={written.timeout}
            step="any"
            wrong={wrong("limits.timeout")}
            onInput={(timeout) => change({ timeout })}
          />
          <Field
            label="Irreversible calls"
            wrong={wrong("approve")}
          >
            {(described) => (
              <select
                {...described}
                value={written.approve}
                onChange={(event) => change({ approve: event.currentTarget.value })}
              >
                {POLICIES.map(([name, label]) => <option key={name} value={name}>{label}</option>)}
              </select>
            )}
          </Field>
        </div>
      </details>
      <ProblemNote problem={starting.problem} />
    </form>
  );
}

interface AmountProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly min?: string;
  readonly step?: string;
  readonly wrong?: string | null;
  readonly onInput: (value: string) => void;
}

/** An optional number. */
function Amount(props: AmountProps) {
  const { label, hint, value, placeholder = "Default", min = "1", step = "1", wrong } = props;
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(described) => (
        <input
          {...described}
          type="number"
          inputMode="decimal"
          min={min}
          step={step}
          value={value}
          placeholder={placeholder}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Return whether a field is wrong that may be hidden under "Limits". */
function hidden(problem: Problem | null): boolean {
  return problem?.errors.some(({ where }) =>
    where === "body.approve" || where.startsWith("body.limits.") && where !== "body.limits.budget"
  ) ?? false;
}

function wrongAt(problem: Problem | null, where: string): string | null {
  return problem?.errors.find((wrong) => wrong.where === where)?.what ?? null;
}
