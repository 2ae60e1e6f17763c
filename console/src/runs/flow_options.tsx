// The fields of a flow's options, below the request; for a report, also the stages that are added to it.

import { getAgents } from "../api.ts";
import { carriers } from "../agents/carriers.ts";
import { stageOf } from "../agents/role_change.ts";
import type { Problem } from "../problem.ts";
import { ParameterField } from "../tools/parameter_field.tsx";
import type { Typed } from "../tools/schema.ts";
import { Button } from "../ui/button.tsx";
import { Choice, TextArea, TextField } from "../ui/field.tsx";
import { useLoaded } from "../ui/loading.ts";
import type { FlowDocument } from "../wire.ts";
import { draft, type StageDraft } from "./draft.ts";
import { optionName, parametersOfFlow } from "./options.ts";

interface FlowOptionsProps {
  readonly flow: FlowDocument;
  readonly problem: Problem | null;
  /** The errors of options that could not be read. */
  readonly unread: Typed;
}

export function FlowOptions({ flow, problem, unread }: FlowOptionsProps) {
  const { options } = draft.value;
  const parameters = parametersOfFlow(flow);
  const isReport = flow.name === "report";
  if (parameters.length === 0 && !isReport) return null;
  const field = (name: string) => ({
    error: unread[name] ?? problem?.errorAt(`options.${name}`),
    onInput: (value: string) => {
      const { options, ...rest } = draft.peek();
      draft.value = { ...rest, options: { ...options, [name]: value } };
    },
  });
  return (
    <fieldset class="flow-options">
      <legend class="unseen">Options</legend>
      {parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          label={optionName(parameter.name)}
          text={options[parameter.name] ?? ""}
          {...field(parameter.name)}
        />
      ))}
      {isReport && <Stages problem={problem} />}
    </fieldset>
  );
}

/** The stages that are added to this report only. */
function Stages({ problem }: { problem: Problem | null }) {
  const { value } = useLoaded(getAgents, { key: "agents" });
  const classes = value?.classes ?? [];
  const { stages } = draft.value;
  const set = (stages: readonly StageDraft[]) => {
    draft.value = { ...draft.peek(), stages };
  };
  const known = (value?.agents ?? []).map(({ name }) => stageOf(name))
    .filter((name) => name !== null);
  return (
    <div class="extra-stages">
      {stages.map((stage, index) => {
        const before = stages.slice(0, index).map(({ name }) => name.trim()).filter(Boolean);
        const change = (name: keyof StageDraft) => (value: string) =>
          set(stages.map((each, at) => at === index ? { ...each, [name]: value } : each));
        const error = (name: string) => problem?.errorAt(`options.agents.${index}.${name}`);
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
            {(classes.length > 0 || stage.agent) && (
              <Choice
                label="Carried out by"
                hint={classes.find(({ name }) => name === stage.agent)?.description}
                choices={carriers(classes, stage.agent ?? "")}
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
                ...[...known, ...before].map((name) => [name, name] as const),
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
        <span class="muted small">
          For this report only. <a href="/agents">Stages of all reports</a>
        </span>
      </p>
    </div>
  );
}
