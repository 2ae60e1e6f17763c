// The steps of a run as lanes of the timeline, and figures about all of them.

import { type Shown, shownStatus } from "../words.ts";
import type { Attempt, Step } from "./view.ts";

/** A step with its id. */
export interface Lane extends Step {
  readonly key: string;
}

export interface NumberedAttempt extends Attempt {
  readonly number: number;
}

/** Return the attempts of a step, oldest first. */
export function attemptsOf(lane: Lane): NumberedAttempt[] {
  return Object.entries(lane.attempts)
    .map(([number, attempt]) => ({ ...attempt, number: Number(number) }));
}

/** Return whether the last attempt of a step is running. */
export function isRunning(lane: Lane): boolean {
  return Object.values(lane.attempts).at(-1)?.outcome === "running";
}

export type Counts = (status?: Shown) => number;

/** Return how many subtasks are shown with a status, or in all; replaced ones do not count. */
export function countsOf(lanes: readonly Lane[]): Counts {
  return numberOf(lanes.filter((lane) => lane.counts && lane.superseded_by === undefined));
}

/** Return how many of these steps are shown with a status, or in all. */
export function numberOf(lanes: readonly Lane[]): Counts {
  const counts = Map.groupBy(lanes, shownStatus);
  return (status) => status === undefined ? lanes.length : counts.get(status)?.length ?? 0;
}

/** Return how many subtasks a retry of all failed ones repeats: what they blocked is repeated with them. */
export function retriableOf(lanes: readonly Lane[]): number {
  return lanes.filter((lane) =>
    lane.counts && lane.superseded_by === undefined && lane.failure?.type !== "needs_failed" &&
    (lane.status === "failed" || lane.status === "dropped")
  ).length;
}

/** Return the number of the first event that says that a call, an attempt or a step failed. */
export function firstProblemOf(lanes: readonly Lane[]): number | undefined {
  const found = lanes.flatMap((lane) => [
    lane.failure && lane.settled_seq,
    ...Object.values(lane.attempts).flatMap(({ failure, result_seq, calls }) => [
      failure && result_seq,
      ...Object.values(calls).map((call) => call.failure && call.returned_seq),
    ]),
  ]).filter((seq) => seq !== undefined);
  return found.length > 0 ? found.reduce((one, other) => Math.min(one, other)) : undefined;
}

/** Return the stretches between attempts in which none ran, in milliseconds. */
export function idleOf(lanes: readonly Lane[]): [from: number, to: number][] {
  const ran = lanes.flatMap((lane) => Object.values(lane.attempts))
    .map(({ started_at = "", ended_at = "later" }) => [started_at, ended_at] as const)
    .filter(([from]) => from !== "")
    .sort(([one], [other]) => one < other ? -1 : 1); // times in UTC sort like texts
  const found: [number, number][] = [];
  let end = ran[0]?.[0] ?? "";
  for (const [from, to] of ran) {
    if (from > end) found.push([Date.parse(end), Date.parse(from)]);
    if (to > end) end = to;
  }
  return found;
}
