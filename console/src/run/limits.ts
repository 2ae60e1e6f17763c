// Limits as they are typed, and the runs that ended because a limit was used up.

import type { NewLimits, RunDocument } from "../wire.ts";

/** The fields of the form as typed; "" for an empty field. */
export type TypedLimits = { readonly [name in keyof NewLimits]?: string };

/** Return the limits that were typed: an empty field keeps its limit. */
export function typedLimits(typed: TypedLimits): NewLimits {
  return Object.fromEntries(
    Object.entries(typed).filter(([, text]) => text.trim() !== "")
      .map(([name, text]) => [name, Number(text)]),
  );
}

/** Return whether runs of a flow have a lead whose turns are limited. */
export function hasLeadTurns(flow: string): boolean {
  return flow === "research" || flow === "worker";
}

/** Return whether a run ended, or parts of its answer are missing, because a limit was used up. */
export function ranOut({ failure, gaps }: Pick<RunDocument, "failure" | "gaps">): boolean {
  return failure?.class === "exhausted" || gaps.some((gap) => gap.class === "exhausted");
}
