// The stages that are added to one report, or replaced in it: each is carried out by a model or by a class.

import { argumentsFrom, type Parameter, parametersOf, type Typed } from "../form/schema.ts";
import { SchemaForm, wordsOf } from "../form/schema_form.tsx";
import type { JsonObject } from "../json.ts";
import { Button } from "../ui/button.tsx";
import type { FlowDocument } from "../wire.ts";

const BUILT_IN = ["planner", "researcher", "writer", "reviewer"];

/** Return the fields of a stage, as typed; `before` are the names of other added stages. */
export function stageParameters(
  stage: Typed,
  { agents }: Pick<FlowDocument, "agents">,
  before: readonly string[] = [],
): readonly Parameter[] {
  // A class that this server no longer has stays chosen.
  const classes = new Set([...Object.keys(agents), ...(stage.agent ? [nameIn(stage.agent)] : [])]);
  return parametersOf({
    required: ["name", "instructions"],
    properties: {
      name: { type: "string" },
      ...(classes.size > 0 && { agent: { enum: [...classes] } }),
      after: { enum: [...BUILT_IN, ...before] },
      ...(!stage.agent && { instructions: { type: "string" } }),
    },
  });
}

function nameIn(choice: string): string {
  return String(JSON.parse(choice));
}

/** Return a stage as the service takes it. */
export function stageOf(stage: Typed, flow: FlowDocument): JsonObject {
  const { args } = argumentsFrom(stageParameters(stage, flow), stage);
  const after = stage.after ? nameIn(stage.after) : args.agent ? "" : "writer"; // a class says where
  return { ...args, name: (stage.name ?? "").trim(), ...(after && { after }) };
}

interface StagesProps {
  readonly flow: FlowDocument;
  readonly stages: readonly Typed[];
  readonly onInput: (stages: readonly Typed[]) => void;
  /** Return what is wrong with a field of a stage. */
  readonly errorAt: (field: string) => string | null | undefined;
}

export function Stages({ flow, stages, onInput, errorAt }: StagesProps) {
  function change(index: number, stage: Typed): void {
    const chosen = stage.agent && stage.agent !== stages[index]!.agent;
    const changed = chosen
      ? { ...stage, name: stage.name || nameIn(stage.agent!), after: "" }
      : stage;
    onInput(stages.map((each, at) => at === index ? changed : each));
  }
  return (
    <div class="extra-stages">
      {stages.map((stage, index) => {
        const before = stages.slice(0, index).map(({ name = "" }) => name.trim()).filter(Boolean);
        return (
          <fieldset key={index} class="extra-stage">
            <legend>Stage {index + 1}</legend>
            <SchemaForm
              parameters={stageParameters(stage, flow, before)}
              typed={stage}
              onInput={(changed) => change(index, changed)}
              errorOf={(name) => errorAt(`options.agents.${index}.${name}`)}
              labelOf={({ name }) => name === "agent" ? "Carried out by a class" : wordsOf(name)}
              hintOf={({ name }) =>
                name === "agent" && stage.agent ? flow.agents[nameIn(stage.agent)] ?? "" : ""}
              empty="Default"
            />
            <Button
              small
              kind="quiet"
              label={`Remove stage ${index + 1}`}
              onClick={() => onInput(stages.filter((_, at) => at !== index))}
            >
              Remove
            </Button>
          </fieldset>
        );
      })}
      <p>
        <Button small onClick={() => onInput([...stages, {}])}>Add stage</Button>{" "}
        <span class="muted small">For this report only.</span>
      </p>
    </div>
  );
}
