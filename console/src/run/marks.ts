// Glyphs, tones and words of the states of assignments and attempts.

import { markOf, type Tone } from "../ui/status.tsx";
import type { AssignmentStatus, Outcome } from "./view.ts";

export function laneMark(
  status: AssignmentStatus,
): { readonly glyph: string; readonly tone: Tone } {
  return status === "retrying" ? { glyph: "↻", tone: "asks" } : markOf(status);
}

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

/** States in the order in which a person wants to see them. */
export const URGENCY: Record<AssignmentStatus, number> = {
  failed: 0,
  waiting: 1,
  retrying: 2,
  dropped: 3,
  running: 4,
  pending: 5,
  completed: 6,
};
