// The form that starts a run: request, flow, model and limits.

import { useState } from "preact/hooks";
import { get, post } from "../api.ts";
import { flowName } from "../formats.ts";
import type { Problem } from "../problem.ts";
import { go } from "../router.ts";
import { limitParameters, settingParameters } from "../form/limits.ts";
import type { Typed } from "../form/schema.ts";
import { SchemaForm } from "../form/schema_form.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { Choice, Form, TextArea, TextField } from "../ui/field.tsx";
import { Fold } from "../ui/fold.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { restWords } from "./again.ts";
import {
  type Draft,
  draft,
  EMPTY,
  forgetKey,
  idempotencyKey,
  parametersOfFlow,
  submissionOf,
} from "./draft.ts";
import { Stages } from "./stages.tsx";

const FURTHER_LIMITS = limitParameters.filter(({ name }) => name !== "budget");

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
  const loaded = useLoaded((options) => get("/api/flows", {}, options), { key: "flows" });
  const [unread, setUnread] = useState<Typed>({});
  const typed = draft.value;
  const set = <Name extends keyof Draft>(name: Name) => (value: Draft[Name]) => {
    draft.value = {
      ...draft.peek(),
      ...(name === "flow" && { options: {}, rest: {} }),
      [name]: value,
    };
  };
  const flows = loaded.value?.flows ?? [];
  const flow = flows.find(({ name }) => name === typed.flow);
  const options = parametersOfFlow(flow);
  const starting = useAction(async () => {
    const { run, errors } = submissionOf(draft.peek(), flow);
    setUnread(errors);
    if (!run.request || Object.keys(errors).length > 0) {
      if (!run.request) document.querySelector<HTMLElement>(".composer textarea")?.focus();
      return;
    }
    const started = await post("/api/runs", {}, run, { idempotencyKey: idempotencyKey(run) });
    forgetKey();
    draft.value = { ...EMPTY, model: typed.model, offline: typed.offline };
    go(`/runs/${started.run_id}`);
  });
  const errorAt = (at: string) => unread[at] ?? starting.problem?.errorAt(at);
  /** Connect a field of the draft to its control. */
  const field = (name: "request" | "flow" | "model") => ({
    error: errorAt(name),
    value: typed[name],
    onInput: set(name),
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
        <TextField
          label="Budget (US$)"
          type="number"
          min="0"
          step="any"
          placeholder="Default"
          error={errorAt("limits.budget")}
          value={typed.limits.budget ?? ""}
          onInput={(budget) => set("limits")({ ...typed.limits, budget })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={typed.offline}
            onChange={(event) => set("offline")(event.currentTarget.checked)}
          />
          <span>
            Offline <span class="muted small">built-in model and sample data</span>
          </span>
        </label>
        <Button type="submit" kind="primary" busy={starting.busy} title="Ctrl+Enter">Start</Button>
      </div>
      {flow && options.length > 0 && !small && (
        <fieldset class="flow-options">
          <legend class="unseen">Options</legend>
          <SchemaForm
            parameters={options}
            typed={typed.options}
            onInput={set("options")}
            errorOf={(name) => errorAt(`options.${name}`)}
          />
          {flow.name === "report" && (
            <Stages flow={flow} stages={typed.stages} onInput={set("stages")} errorAt={errorAt} />
          )}
        </fieldset>
      )}
      <Fold class="limits" summary="Advanced" opened={isHidden(starting.problem)}>
        <div class="limits-fields">
          <SchemaForm
            parameters={FURTHER_LIMITS}
            typed={typed.limits}
            onInput={set("limits")}
            errorOf={(name) => errorAt(`limits.${name}`)}
            hintOf={({ description }) => description}
            empty="Default"
          />
          <SchemaForm
            parameters={settingParameters}
            typed={typed.settings}
            onInput={set("settings")}
            errorOf={errorAt}
            hintOf={({ description }) => description}
            empty="Default"
          />
        </div>
      </Fold>
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

/** Return whether an error is at a field that may be hidden under "Advanced". */
function isHidden(problem: Problem | null): boolean {
  return problem?.errors.some(({ where }) =>
    where.startsWith("body.limits.") && where !== "body.limits.budget" ||
    settingParameters.some(({ name }) => where === `body.${name}`)
  ) ?? false;
}
