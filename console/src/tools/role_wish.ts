// What is asked of the service when somebody has edited a role: only what differs from what ships is set.

import type { AgentDocument } from "../wire.ts";

/** The service refuses longer ones. */
export const LONGEST_INSTRUCTIONS = 8_000;

/** A role as it stands in the fields of its form. */
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
 * Null, which is "as it ships", for what is empty, and for what is as it ships: who sets a model does not nail down the
 * instructions of this version with it.
 */
export function wishOf(
  agent: AgentDocument,
  written: Written,
): { model: string | null; instructions: string | null } {
  const wish = (typed: string, ships: string) =>
    typed.trim() === "" || typed === ships ? null : typed;
  return {
    model: wish(written.model.trim(), agent.ships.model),
    instructions: wish(written.instructions, agent.ships.instructions),
  };
}
