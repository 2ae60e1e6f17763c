// Limits as they are typed, and the runs that ended because a limit was used up.

import type { NewLimits, RunDocument } from "../wire.ts";
import type { Assignment } from "./view.ts";

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
  return flow === "research" || flow === "worker";
}

type Ended = Pick<RunDocument, "failure" | "gaps">;
type Worked = Pick<Assignment, "failure" | "settled_seq">;

/**
 * Return why a run ended, or why work such as a review is missing, if a limit was used up; "" otherwise. `since` is the
 * event of the answer before: what ran out before it has been continued.
 */
export function ranOut({ failure, gaps }: Ended, lanes: readonly Worked[], since: number): string {
  const settled = lanes.filter((lane) => (lane.settled_seq ?? 0) > since);
  const failures = [failure, ...settled.map((lane) => lane.failure)];
  return failures.find((each) => each?.class === "exhausted")?.message ??
    gaps.find((gap) => gap.class === "exhausted")?.reason ?? "";
}
