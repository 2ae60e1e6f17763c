// The draft of a run with the request and the options of an earlier one.

import type { Json, JsonObject } from "../json.ts";
import type { Parameter, Typed } from "../tools/schema.ts";
import type { FlowDocument, RunDefinition, Submission } from "../wire.ts";
import { type Draft, EMPTY, type StageDraft } from "./draft.ts";
import { parametersOfFlow } from "./options.ts";

type Definition = Pick<
  RunDefinition,
  | "flow"
  | "options"
  | "models"
  | "limits"
  | "offline"
  | "approve"
  | "approve_rules"
  | "check"
  | "strict"
  | "worker_calls"
>;

/** `definition` is that of the earlier run, as its first event has it. */
export function draftOf(
  request: string,
  definition: Definition,
  flows: readonly FlowDocument[],
): Draft {
  const { limits, models, offline } = definition;
  const flow = flows.find(({ name }) => name === definition.flow);
  const text = (number: number | null) => number === null ? "" : String(number);
  const { options, stages, others } = optionsOf(definition.options as JsonObject, flow);
  return {
    ...EMPTY,
    request,
    flow: definition.flow,
    options,
    stages,
    model: modelOf(models.default, offline),
    offline,
    budget: text(limits.budget_nanousd === null ? null : limits.budget_nanousd / 1e9),
    maxSteps: text(limits.max_steps),
    maxWorkers: text(limits.max_workers),
    batchSize: text(limits.batch_size),
    timeout: text(limits.timeout_s),
    approve: definition.approve,
    check: offline ? "" : definition.check ?? "",
    strict: definition.strict ?? false,
    rest: restOf(definition, others),
  };
}

/** Return a model that can be named in a request: other names are of models that the service was given as code. */
function modelOf(name: string | undefined, offline: boolean): string {
  return !offline && name?.includes(":") ? name : "";
}

/** Return what the form has no fields for. */
function restOf(
  { limits, models, approve_rules, offline, worker_calls }: Definition,
  options: JsonObject,
) {
  const set = (values: { readonly [name: string]: unknown }): object =>
    Object.fromEntries(
      Object.entries(values).filter(([, value]) =>
        value !== null && value !== undefined && value !== ""
      ),
    );
  const more = set({
    max_requests: limits.max_requests,
    max_tokens: limits.max_tokens,
    max_output_tokens: limits.max_output_tokens,
    attempt_timeout: limits.attempt_timeout_s,
    approval_timeout: limits.approval_timeout_s,
    model_patience: limits.model_patience_s,
  });
  return {
    ...set({
      lead_model: modelOf(models.by_use.plan, offline),
      worker_model: modelOf(models.by_use.work, offline),
      review_model: modelOf(models.by_use.review, offline),
    }),
    ...(Object.keys(approve_rules).length > 0 && { approve_rules }),
    ...(worker_calls === "always" && { worker_calls }),
    limits: more,
    options,
  } as Draft["rest"];
}

/** Return options as they are typed into the fields of a flow, and those that have no field. */
function optionsOf(
  given: JsonObject,
  flow: FlowDocument | undefined,
): { options: Typed; stages: readonly StageDraft[]; others: JsonObject } {
  const parameters = new Map(
    flow ? parametersOfFlow(flow).map((each) => [each.name, each] as const) : [],
  );
  const options: { [name: string]: string } = {};
  const others: JsonObject = {};
  let stages: readonly StageDraft[] = [];
  for (const [name, value] of Object.entries(given)) {
    const parameter = parameters.get(name);
    if (value === null) continue;
    if (parameter) options[name] = typed(value, parameter);
    else if (flow?.name === "report" && name === "agents" && isPlain(value)) stages = value;
    else others[name] = value;
  }
  return { options, stages, others };
}

function typed(value: Json, { control }: Parameter): string {
  return control === "text" && typeof value === "string" ? value : JSON.stringify(value);
}

/** Return whether stages have no other fields than the form has. */
function isPlain(value: Json): value is Json & StageDraft[] {
  return Array.isArray(value) &&
    value.every((stage) =>
      Object.keys(stage as object).every((name) =>
        ["name", "after", "instructions", "agent"].includes(name)
      )
    );
}

/** Return what a draft sends besides its fields, in words: "max_tokens 5000". */
export function restWords({ limits, options, ...rest }: Partial<Submission>): string[] {
  return Object.entries({ ...rest, ...limits, ...options })
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
}
