// Glyph, tone and word of a lane's state: those of every state in the console, and one more for what is tried again.

import { markOf, type Tone } from "../ui/status.tsx";
import type { LaneStatus, Outcome } from "./lane.ts";

export function laneMark(status: LaneStatus): { readonly glyph: string; readonly tone: Tone } {
  return status === "retrying" ? { glyph: "↻", tone: "asks" } : markOf(status);
}

export const OUTCOME_WORDS: Record<Outcome, string> = {
  scheduled: "to come",
  running: "running",
  ok: "returned a result",
  failed: "failed",
  parked: "stopped to wait",
  lost: "lost with its process",
  stopped: "stopped",
};
