// What is sent when a role was edited: only what differs from the defaults.

import type { AgentDocument } from "../wire.ts";

/** The service refuses longer instructions. */
export const LONGEST_INSTRUCTIONS = 8_000;

/** The fields of the form. */
export interface Written {
  readonly model: string;
  readonly instructions: string;
}

/** Characters as the service counts them: a code point is one. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * Return null, the default, for a field that is empty or equals the default: changing the model does not pin the
 * instructions of this version.
 */
export function changesOf(
  agent: AgentDocument,
  written: Written,
): { model: string | null; instructions: string | null } {
  const change = (typed: string, ships: string) =>
    typed.trim() === "" || typed === ships ? null : typed;
  return {
    model: change(written.model.trim(), agent.ships.model),
    instructions: change(written.instructions, agent.ships.instructions),
  };
}
