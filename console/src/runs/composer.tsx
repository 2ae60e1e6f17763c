// The form that starts a run: request, flow, model and limits.

import { useState } from "preact/hooks";
import { getFlows, startRun } from "../api.ts";
import { flowName } from "../formats.ts";
import type { Problem } from "../problem.ts";
import { go } from "../router.ts";
import type { Typed } from "../tools/schema.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Choice, Form, TextArea, TextField } from "../ui/field.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { restWords } from "./again.ts";
import { type Draft, draft, EMPTY, forgetKey, idempotencyKey, submissionOf } from "./draft.ts";
import { FlowOptions } from "./flow_options.tsx";
import { optionsOf } from "./options.ts";

const CHECKS = [
  ["", "Default"],
  ["judge", "With a judge"],
  ["exact", "Exact checks only"],
  ["off", "Off"],
] as const;
const POLICIES = [
  ["", "Default"],
  ["ask", "Ask for approval"],
  ["auto", "Call without asking"],
  ["never", "Refuse"],
] as const;

type Words = readonly [label: string, example: string];

const REQUEST: Words = [
  "Request",
  "Weather in Paris tomorrow, and how to get from the Louvre to Orly airport",
];
/** What a request is called in the built-in flows. */
const REQUESTS: { readonly [flow: string]: Words } = {
  report: ["Topic", "Heat pumps in old houses"],
  research: ["Question", "How do heat pumps perform in old houses, and what do they cost?"],
};

/** `compact` shows only the request and the flow, until it gets the focus or a text. */
export function Composer({ compact }: { compact: boolean }) {
  const [used, setUsed] = useState(false);
  const loaded = useLoaded(getFlows, { key: "flows" });
  const [unread, setUnread] = useState<Typed>({});
  const typed = draft.value;
  const change = (name: keyof Draft) => (value: string | boolean) => {
    draft.value = {
      ...draft.peek(),
      [name]: value,
      ...(name === "flow" && { options: {}, rest: {} }),
    };
  };
  const flows = loaded.value?.flows ?? [];
  const flow = flows.find(({ name }) => name === typed.flow);
  const starting = useAction(async () => {
    const { options, errors } = optionsOf(draft.peek(), flow);
    setUnread(errors);
    const run = submissionOf(draft.peek(), options);
    if (!run.request || Object.keys(errors).length > 0) {
      if (!run.request) document.querySelector<HTMLElement>(".composer textarea")?.focus();
      return;
    }
    const started = await startRun(run, idempotencyKey(run));
    forgetKey();
    draft.value = { ...EMPTY, model: typed.model, offline: typed.offline };
    go(`/runs/${started.run_id}`);
  });
  /** Connect a field of the draft to its control; `at` names it in the errors of the service. */
  const field = (
    name: Exclude<keyof Draft, "offline" | "strict" | "options" | "stages" | "rest">,
    at: string = name,
  ) => ({
    error: starting.problem?.errorAt(at),
    value: typed[name],
    onInput: change(name),
  });
  const small = compact && !used && typed.request === "";
  const rest = restWords(typed.rest);
  const [label, example] = REQUESTS[typed.flow] ?? REQUEST;
  return (
    <Form
      class={`composer panel${small ? " compact" : ""}`}
      onFocusIn={() => setUsed(true)}
      aria-label="New run"
      onSubmit={starting.run}
    >
      <TextArea
        label={label}
        fieldClass="request"
        rows={small ? 1 : 2}
        required
        placeholder={example}
        {...field("request")}
      />
      <div class="composer-row">
        <Choice
          label="Flow"
          choices={flows.length > 0
            ? flows.map(({ name }) => [name, flowName(name)] as const)
            : [[typed.flow, flowName(typed.flow)]]}
          {...field("flow")}
        />
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
      {flow && !small && <FlowOptions flow={flow} problem={starting.problem} unread={unread} />}
      <details class="limits" open={isHidden(starting.problem) || undefined}>
        <summary>Advanced</summary>
        <div class="limits-fields">
          {typed.flow === "work-order" && (
            <Amount
              label="Max. work orders"
              hint="repairs included"
              {...field("maxSteps", "limits.max_steps")}
            />
          )}
          <Amount label="Max. parallel workers" {...field("maxWorkers", "limits.max_workers")} />
          <Amount
            label="Batch size"
            hint="empty: no batches"
            {...field("batchSize", "limits.batch_size")}
          />
          <Amount label="Timeout (seconds)" step="any" {...field("timeout", "limits.timeout")} />
          <Choice label="Irreversible calls" choices={POLICIES} {...field("approve")} />
          <Choice label="Check answers" choices={CHECKS} {...field("check")} />
          <label class="check">
            <input
              type="checkbox"
              checked={typed.strict}
              onChange={(event) => change("strict")(event.currentTarget.checked)}
            />
            Doubts make the run partial
          </label>
        </div>
      </details>
      {rest.length > 0 && (
        <p class="small muted">
          As in the earlier run: {rest.join(", ")}{" "}
          <Button small kind="quiet" onClick={() => draft.value = { ...draft.peek(), rest: {} }}>
            Use defaults
          </Button>
        </p>
      )}
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

/** Return whether an error is at a field that may be hidden under "Advanced". */
function isHidden(problem: Problem | null): boolean {
  return problem?.errors.some(({ where }) =>
    ["body.approve", "body.check", "body.strict"].includes(where) ||
    where.startsWith("body.limits.") && where !== "body.limits.budget"
  ) ?? false;
}
