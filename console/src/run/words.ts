// Words for the states of assignments and attempts, and their urgency.

import type { AssignmentStatus, Outcome } from "./view.ts";

export const STATUS_WORDS: Record<AssignmentStatus, string> = {
  pending: "Pending",
  running: "Running",
  waiting: "Waiting",
  retrying: "Retrying",
  completed: "Completed",
  failed: "Failed",
  dropped: "Skipped",
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
export const URGENCY: Record<AssignmentStatus, number> = {
  failed: 0,
  waiting: 1,
  retrying: 2,
  dropped: 3,
  running: 4,
  pending: 5,
  completed: 6,
};
