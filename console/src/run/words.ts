// Words for the states of steps and attempts, and their urgency.

import type { Outcome, Step, StepStatus } from "./state/view.ts";

/** What is shown of a step. */
export type Shown = StepStatus | "cancelled";

/**
 * Return what is shown of a step: what failed by itself has failed, even if a review dropped it; what a person
 * left out is skipped; what ran when its run was cancelled is cancelled.
 */
export function shownStatus(
  { status, failure, by }: Pick<Step, "status" | "failure" | "by">,
): Shown {
  if (status !== "failed" && status !== "dropped") return status;
  if (isCancelled(failure)) return "cancelled";
  return failure && !by ? "failed" : status;
}

export function isCancelled(failure: Step["failure"]): boolean {
  return failure?.type === "cancelled";
}

export const STATUS_WORDS: Record<Shown, string> = {
  pending: "Pending",
  running: "Running",
  waiting: "Waiting",
  retrying: "Retrying",
  completed: "Completed",
  failed: "Failed",
  dropped: "Skipped",
  cancelled: "Cancelled",
};

export const OUTCOME_WORDS: Record<Outcome, string> = {
  scheduled: "pending",
  running: "running",
  ok: "returned a result",
  failed: "failed",
  parked: "paused",
  lost: "lost with its process",
  stopped: "stopped",
};

/** The order of states when problems come first. */
export const URGENCY: Record<Shown, number> = {
  failed: 0,
  waiting: 1,
  retrying: 2,
  dropped: 3,
  cancelled: 4,
  running: 5,
  pending: 6,
  completed: 7,
};

/** What the classes of failures mean; their names are in tooltips. */
export const FAILURE_WORDS: { readonly [name: string]: string } = {
  transient: "temporary error",
  rate_limited: "rate limit",
  invalid: "invalid",
  unavailable: "not available",
  rejected: "refused",
  blocked: "blocked",
  too_large: "too large",
  insufficient: "not enough",
  lost: "lost",
  exhausted: "limit reached",
};
