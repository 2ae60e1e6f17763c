// The fields of a flow's options, below the request; for a report, also the stages that are added to it.

import { SchemaForm } from "../form/schema_form.tsx";
import { Button } from "../ui/button.tsx";
import { Choice, TextArea, TextField } from "../ui/field.tsx";
import type { FlowDocument } from "../wire.ts";
import { draft, parametersOfFlow, type StageDraft } from "./draft.ts";

/** Return what is wrong with a field of the request body; nothing if it is right. */
type ErrorAt = (field: string) => string | null | undefined;

export function FlowOptions({ flow, errorAt }: { flow: FlowDocument; errorAt: ErrorAt }) {
  const parameters = parametersOfFlow(flow);
  const isReport = flow.name === "report";
  if (parameters.length === 0 && !isReport) return null;
  return (
    <fieldset class="flow-options">
      <legend class="unseen">Options</legend>
      <SchemaForm
        parameters={parameters}
        typed={draft.value.options}
        onInput={(options) => draft.value = { ...draft.peek(), options }}
        errorOf={(name) => errorAt(`options.${name}`)}
      />
      {isReport && <Stages classes={flow.agents} errorAt={errorAt} />}
    </fieldset>
  );
}

const BUILT_IN = ["planner", "researcher", "writer", "reviewer"];

interface StagesProps {
  /** The descriptions of the Python classes that can carry out a stage, by name. */
  readonly classes: FlowDocument["agents"];
  readonly errorAt: ErrorAt;
}

/** The stages that are added to this report, or replaced in it. */
function Stages({ classes, errorAt }: StagesProps) {
  const { stages } = draft.value;
  const set = (stages: readonly StageDraft[]) => {
    draft.value = { ...draft.peek(), stages };
  };
  return (
    <div class="extra-stages">
      {stages.map((stage, index) => {
        const before = stages.slice(0, index).map(({ name }) => name.trim()).filter(Boolean);
        const change = (name: keyof StageDraft) => (value: string) =>
          set(stages.map((each, at) => at === index ? { ...each, [name]: value } : each));
        const error = (name: string) => errorAt(`options.agents.${index}.${name}`);
        return (
          <fieldset key={index} class="extra-stage">
            <legend>Stage {index + 1}</legend>
            <TextField
              label="Name"
              required
              placeholder="fact-checker"
              spellcheck={false}
              autocomplete="off"
              error={error("name")}
              value={stage.name}
              onInput={change("name")}
            />
            {(Object.keys(classes).length > 0 || stage.agent) && (
              <Choice
                label="Carried out by"
                hint={classes[stage.agent ?? ""]}
                choices={carriersOf(classes, stage.agent)}
                error={error("agent")}
                value={stage.agent ?? ""}
                onInput={(agent) =>
                  set(stages.map((each, at) =>
                    at === index
                      ? { ...each, agent, name: each.name || agent, after: agent ? "" : "writer" }
                      : each
                  ))}
              />
            )}
            <Choice
              label="After"
              choices={[
                ...(stage.agent ? [["", "Where the class says"] as const] : []),
                ...[...BUILT_IN, ...before].map((name) => [name, name] as const),
              ]}
              error={error("after")}
              value={stage.after}
              onInput={change("after")}
            />
            {!stage.agent && (
              <TextArea
                label="Instructions"
                required
                rows={2}
                placeholder="Check that every date in the draft is in a cited passage."
                error={error("instructions")}
                value={stage.instructions}
                onInput={change("instructions")}
              />
            )}
            <Button
              small
              kind="quiet"
              label={`Remove stage ${index + 1}`}
              onClick={() => set(stages.filter((_, at) => at !== index))}
            >
              Remove
            </Button>
          </fieldset>
        );
      })}
      <p>
        <Button
          small
          onClick={() => set([...stages, { name: "", after: "writer", instructions: "" }])}
        >
          Add stage
        </Button>{" "}
        <span class="muted small">For this report only.</span>
      </p>
    </div>
  );
}

/** Return what can carry out a stage: a model, and each class, also one that this server no longer has. */
function carriersOf(classes: StagesProps["classes"], current = ""): (readonly [string, string])[] {
  const names = new Set([...Object.keys(classes), current]);
  names.delete("");
  return [["", "A model"], ...[...names].map((name) => [name, `Class ${name}`] as const)];
}
