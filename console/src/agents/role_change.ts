// The change of an edited role or stage: only the fields that differ from the defaults.

import type { AgentBody, AgentDocument } from "../wire.ts";

/** The service refuses longer instructions. In code points. */
export const MAX_INSTRUCTIONS = 8_000;
/** The names of the stages of the report flow begin with this. */
export const STAGE_PREFIX = "report.";
/** The limits of each assignment of a stage. */
export const LIMITS = [
  ["max_turns", "Max. turns"],
  ["max_requests", "Max. model calls"],
  ["max_tokens", "Max. tokens"],
  ["budget", "Budget (US$)"],
] as const;
/** What an added stage can give. */
export const GIVES = [
  ["feedback", "Verdict"],
  ["draft", "Another draft"],
  ["research", "More research"],
] as const;

type Limit = typeof LIMITS[number][0];

/** The fields of the form, as typed. Roles of work orders have only the model and the instructions. */
export interface RoleFields {
  /** The Python class that carries the stage out; "" for a model. */
  readonly agent: string;
  readonly model: string;
  readonly instructions: string;
  /** "after writer" or "before reviewer"; "" for a stage with a fixed place, or with that of its class. */
  readonly position: string;
  readonly gives: string;
  /** Names, separated by commas or spaces. */
  readonly tools: string;
  readonly limits: { readonly [name in Limit]?: string };
}

export const NEW_STAGE: RoleFields = {
  agent: "",
  model: "",
  instructions: "",
  position: "after writer",
  gives: "feedback",
  tools: "",
  limits: {},
};

/** Return the name of a stage within its flow; null for a role of another flow. */
export function stageOf(name: string): string | null {
  return name.startsWith(STAGE_PREFIX) ? name.slice(STAGE_PREFIX.length) : null;
}

/** Return the number of code points, which is what the service limits. */
export function lengthOf(text: string): number {
  return [...text].length;
}

export function fieldsOf(agent: AgentDocument): RoleFields {
  const limits = LIMITS.map(([name]) => [name, agent[name] ?? ""] as const);
  return {
    agent: agent.agent ?? "",
    model: agent.model,
    instructions: agent.instructions,
    position: agent.before
      ? `before ${agent.before}`
      : agent.added && agent.after
      ? `after ${agent.after}`
      : "",
    gives: agent.gives?.[0] ?? "feedback",
    tools: agent.tools?.join(", ") ?? "",
    limits: Object.fromEntries(limits.map(([name, value]) => [name, String(value)])),
  };
}

/**
 * Return the body that sets a role. A field that is empty or equals the default is left out, so that changing the model
 * does not pin the instructions of this version.
 */
export function bodyOf(
  fields: RoleFields,
  ships: AgentDocument["ships"] | null,
  { off = false, added = false }: { off?: boolean | null; added?: boolean | null } = {},
): AgentBody {
  const change = (typed: string, standard: string | undefined) =>
    typed.trim() === "" || typed === standard ? null : typed;
  const model = change(fields.model.trim(), ships?.model);
  const instructions = change(fields.instructions, ships?.instructions);
  const [side, beside] = fields.position.split(" ");
  const tools = fields.tools.split(/[\s,]+/).filter(Boolean);
  const limits = Object.entries(fields.limits).filter(([, typed]) => typed.trim() !== "")
    .map(([name, typed]) => [name, Number(typed)]);
  return {
    ...(fields.agent && { agent: fields.agent }),
    ...(model !== null && { model }),
    ...(instructions !== null && { instructions }),
    ...(off && { off }),
    ...(added && side && beside && { [side]: beside }),
    ...(added && !fields.agent && { gives: [fields.gives] as AgentBody["gives"] }),
    ...(tools.length > 0 && { tools }),
    ...Object.fromEntries(limits),
  };
}
