// The change of an edited role: only the fields that differ from the defaults.

import type { AgentDocument } from "../wire.ts";

/** The service refuses longer instructions. In code points. */
export const MAX_INSTRUCTIONS = 8_000;

/** The fields of the form. */
export interface RoleFields {
  readonly model: string;
  readonly instructions: string;
}

/** Return the number of code points, which is what the service limits. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/**
 * Return the fields that change. A field that is empty or equals the default is null, so that changing the model does not
 * pin the instructions of this version.
 */
export function changesOf(
  agent: AgentDocument,
  fields: RoleFields,
): { model: string | null; instructions: string | null } {
  const change = (typed: string, standard: string) =>
    typed.trim() === "" || typed === standard ? null : typed;
  return {
    model: change(fields.model.trim(), agent.ships.model),
    instructions: change(fields.instructions, agent.ships.instructions),
  };
}
