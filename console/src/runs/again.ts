// The draft of a run with the request and the options of an earlier one.

import { limitParameters } from "../form/limits.ts";
import type { Parameter, Typed } from "../form/schema.ts";
import type { Json, JsonObject } from "../json.ts";
import type { FlowDocument, RunDefinition, Submission } from "../wire.ts";
import { type Draft, EMPTY, parametersOfFlow, type StageDraft } from "./draft.ts";

/** `definition` is that of the earlier run, as its first event has it. */
export function draftOf(
  request: string,
  definition: RunDefinition,
  flows: readonly FlowDocument[],
): Draft {
  const { models, offline } = definition;
  const flow = flows.find(({ name }) => name === definition.flow);
  const { agents = null, ...given } = definition.options as JsonObject;
  const stages = flow?.name === "report" && areStages(agents) ? agents : [];
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
    limits: typedIn(limitParameters, limitsOf(definition))[0],
    approve: definition.approve,
    check: offline ? "" : definition.check ?? "",
    strict: definition.strict ?? false,
    rest: restOf(definition, others),
  };
}

/** Return the limits by the names that a request has for them. */
function limitsOf({ limits: { budget_nanousd, ...limits } }: RunDefinition): JsonObject {
  const given = Object.entries(limits).map(([name, value]) => [name.replace(/_s$/, ""), value]);
  return {
    ...Object.fromEntries(given),
    budget: budget_nanousd === null ? null : budget_nanousd / 1e9,
  };
}

/** Return a model that can be named in a request: other names are of models that the service was given as code. */
function modelOf(name: string | undefined, offline: boolean): string {
  return !offline && name?.includes(":") ? name : "";
}

/** Return what the form has no fields for. */
function restOf(
  { models: { by_use: uses }, approve_rules, offline, worker_calls }: RunDefinition,
  options: JsonObject,
): Draft["rest"] {
  const given = {
    lead_model: modelOf(uses.plan, offline),
    worker_model: modelOf(uses.work, offline),
    review_model: modelOf(uses.review, offline),
    approve_rules,
    worker_calls: worker_calls === "always" ? worker_calls : "",
    options,
  };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => Object.keys(value).length > 0),
  );
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

/** Return whether stages have no other fields than the form has. */
function areStages(value: Json): value is Json & StageDraft[] {
  return Array.isArray(value) &&
    value.every((stage) =>
      Object.keys(stage as object).every((name) =>
        ["name", "after", "instructions", "agent"].includes(name)
      )
    );
}

/** Return what a draft sends besides its fields, in words: "max_tokens 5000". */
export function restWords({ options, ...rest }: Partial<Submission>): string[] {
  return Object.entries({ ...rest, ...options })
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
}
