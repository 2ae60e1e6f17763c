// The options of a flow: the fields that its schema describes, and the stages that are added to a report.

import { capitalized } from "../formats.ts";
import type { Json, JsonObject, Schema } from "../json.ts";
import { argumentsFrom, type Parameter, parametersOf, type Typed } from "../tools/schema.ts";
import type { FlowDocument } from "../wire.ts";
import type { Draft } from "./draft.ts";

/** Return the options of a flow that have a field of their own; those of a report's stages have a form. */
export function parametersOfFlow(flow: FlowDocument): readonly Parameter[] {
  const parameters = parametersOf(flow.options as Schema);
  return flow.name === "report" ? parameters.filter(({ name }) => name !== "agents") : parameters;
}

/** Return the name of an option for people: "max_turns" is "Max. turns". */
export function optionName(name: string): string {
  return capitalized(name.replaceAll("_", " ")).replace(/^Max /, "Max. ");
}

/** Return the options that a draft gives, and the errors of those that cannot be read, by name. */
export function optionsOf(
  draft: Draft,
  flow: FlowDocument | undefined,
): { readonly options: JsonObject; readonly errors: Typed } {
  if (flow === undefined) return { options: {}, errors: {} };
  const { args, errors } = argumentsFrom(parametersOfFlow(flow), draft.options);
  if (flow.name !== "report" || draft.stages.length === 0) return { options: args, errors };
  const agents = draft.stages.map(({ name, after, instructions, agent }): Json =>
    agent
      ? { name: name.trim(), agent, ...(after && { after }) }
      : { name: name.trim(), after, instructions }
  );
  return { options: { ...args, agents }, errors };
}
