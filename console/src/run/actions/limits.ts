// Limits as they are typed.

import type { NewLimits, RunDocument } from "../../wire.ts";

/** The fields of the form as typed; "" for an empty field. */
export type TypedLimits = { readonly [name in keyof NewLimits]?: string };

/** Return the limits that were typed: an empty field keeps its limit. */
export function typedLimits(typed: TypedLimits): NewLimits {
  return Object.fromEntries(
    Object.entries(typed).filter(([, text]) => text.trim() !== "")
      .map(([name, text]) => [name, Number(text)]),
  );
}

/** Return the limits that are proposed for a run that ran out, as they would be typed. */
export function proposedLimits(run: Pick<RunDocument, "proposed_limits"> | null): TypedLimits {
  return Object.fromEntries(
    Object.entries(run?.proposed_limits ?? {}).map(([name, value]) => [name, String(value)]),
  );
}

/** Return whether runs of a flow have a lead whose turns are limited. */
export function hasLeadTurns(flow: string): boolean {
  return flow === "research" || flow === "solo";
}
