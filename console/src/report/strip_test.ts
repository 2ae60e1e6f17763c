// Test the steps of a report.

import assert from "node:assert/strict";
import { type StepLane, stepsOf } from "./strip.ts";

const STAGES = ["planner", "researcher", "writer", "fact-checker", "reviewer"].map((name) => ({
  name,
}));
const lane = (key: string, worker: string, status: StepLane["status"] = "completed"): StepLane => ({
  key,
  worker,
  status,
});
const shown = (lanes: StepLane[], ended: string | null = null) =>
  stepsOf(lanes, STAGES, ended).map(({ label, status, progress }) =>
    `${label}: ${status}${progress && `, ${progress}`}`
  );

Deno.test("stages to come are pending", () => {
  assert.deepEqual(shown([lane("plan", "planner", "running")]), [
    "Plan: running",
    "Research: pending",
    "Draft: pending",
    "fact-checker: pending",
    "Review: pending",
    "Final report: pending",
  ]);
});

Deno.test("the steps of a stage are counted, and an open one says what the stage does", () => {
  const lanes = [
    lane("plan", "planner"),
    lane("research-1", "researcher"),
    lane("research-2", "researcher", "failed"),
    lane("draft-1", "writer"),
    lane("fact-checker.1", "fact-checker"),
    lane("review-1", "reviewer"),
    lane("draft-2", "writer"),
    lane("fact-checker.2", "fact-checker", "running"),
  ];
  assert.deepEqual(shown(lanes), [
    "Plan: completed",
    "Research: partial, 1 of 2",
    "Draft: completed, 2 of 2",
    "fact-checker: running, 1 of 2",
    "Review: completed",
    "Final report: pending",
  ]);
});

Deno.test("a run that is over has its own status at the end, and skips what it did not begin", () => {
  assert.deepEqual(shown([lane("plan", "planner", "failed")], "failed").slice(0, 2), [
    "Plan: failed",
    "Research: dropped",
  ]);
  assert.equal(shown([], "cancelled").at(-1), "Final report: cancelled");
});
