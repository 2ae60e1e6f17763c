// The draft of a run with the request and the options of an earlier one.

import { limitParameters, settingParameters } from "../form/limits.ts";
import type { Parameter, Typed } from "../form/schema.ts";
import type { Json, JsonObject } from "../json.ts";
import type { FlowDocument, RunDefinition, Submission } from "../wire.ts";
import { type Draft, EMPTY, parametersOfFlow } from "./draft.ts";
import { stageParameters } from "./stages.tsx";

/** `definition` is that of the earlier run, as its first event has it. */
export function draftOf(
  request: string,
  definition: RunDefinition,
  flows: readonly FlowDocument[],
): Draft {
  const { models, offline } = definition;
  const flow = flows.find(({ name }) => name === definition.flow);
  const { agents = null, ...given } = definition.options as JsonObject;
  const stages = flow?.name === "report" ? stagesIn(agents, flow) : [];
  const options = stages.length > 0 ? given : definition.options as JsonObject;
  const [typed, others] = typedIn(parametersOfFlow(flow), options);
  return {
    ...EMPTY,
    request,
    flow: definition.flow,
    options: typed,
    stages,
    model: modelOf(models.default, offline),
    offline,
    limits: typedIn(limitParameters, definition.limits as unknown as JsonObject)[0],
    settings: typedIn(settingParameters, settingsOf(definition))[0],
    rest: {
      ...(hasRules(definition) && {
        approve: { ...definition.approve_rules, "*": definition.approve },
      }),
      ...(Object.keys(others).length > 0 && { options: others }),
    },
  };
}

function hasRules({ approve_rules }: RunDefinition): boolean {
  return Object.keys(approve_rules).length > 0;
}

/** Return a model that can be named in a request: other names are of models that the service was given as code. */
function modelOf(name: string | undefined, offline: boolean): string {
  return !offline && name?.includes(":") ? name : "";
}

/** Return the settings that differ from what they are without being set. */
function settingsOf(definition: RunDefinition): JsonObject {
  const { models: { by_use: uses }, offline } = definition;
  return {
    approve: hasRules(definition) ? null : definition.approve,
    approve_plan: definition.approve_plan || null,
    check: offline ? null : definition.check ?? null,
    strict: definition.strict || null,
    lead_model: modelOf(uses.plan, offline) || null,
    worker_model: modelOf(uses.work, offline) || null,
    review_model: modelOf(uses.review, offline) || null,
    worker_calls: definition.worker_calls === "always" ? "always" : null,
  };
}

/** Return values as they are typed into the fields of a form, and those that have no field. */
function typedIn(parameters: readonly Parameter[], values: JsonObject): [Typed, JsonObject] {
  const controls = new Map(parameters.map(({ name, control }) => [name, control]));
  const given = Object.entries(values).filter(([, value]) => value !== null);
  const typed = given.filter(([name]) => controls.has(name)).map(([name, value]) => [
    name,
    controls.get(name) === "text" && typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const others = given.filter(([name]) => !controls.has(name));
  return [Object.fromEntries(typed), Object.fromEntries(others)];
}

/** Return stages as they are typed; none if one of them has a field that the form does not have. */
function stagesIn(agents: Json, flow: FlowDocument): Typed[] {
  const given = Array.isArray(agents) ? agents as JsonObject[] : [];
  const stages = given.map((stage) => {
    const [{ agent = "" }] = typedIn(stageParameters({}, flow), { agent: stage.agent ?? null });
    const names = given.map(({ name }) => String(name));
    return typedIn(stageParameters({ agent }, flow, names), stage);
  });
  const plain = stages.every(([, others]) => Object.keys(others).length === 0);
  return plain ? stages.map(([typed]) => typed) : [];
}

/** Return what a draft sends besides its fields, in words: "max_tokens 5000". */
export function restWords({ options, ...rest }: Partial<Submission>): string[] {
  return Object.entries({ ...rest, ...options })
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
}
