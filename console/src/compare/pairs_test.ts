// Test how the subtasks of two runs are paired.

import assert from "node:assert/strict";
import type { StepLine } from "../wire.ts";
import { currentSubtasks, differs, pairsOf } from "./pairs.ts";

const line = (id: string, title: string, counts = true) => ({ id, title, counts }) as StepLine;

Deno.test("subtasks are paired by title, and those of one run alone are shown alone", () => {
  const pairs = pairsOf(
    [line("a0", "noise · Paris"), line("a1", "noise · Rome")],
    [line("b0", "noise · Rome"), line("b1", "noise · Oslo")],
  );
  assert.deepEqual(
    pairs.map(({ before, after }) => [before?.id ?? null, after?.id ?? null]),
    [["a0", null], ["a1", "b0"], [null, "b1"]],
  );
});

Deno.test("equal titles are paired in order", () => {
  const pairs = pairsOf([line("a0", "x"), line("a1", "x")], [line("b0", "x"), line("b1", "x")]);
  assert.deepEqual(pairs.map(({ after }) => after?.id), ["b0", "b1"]);
});

Deno.test("subtasks differ by state, result or failure, and if one run has none", () => {
  const done = { ...line("a0", "x"), status: "completed", summary: "7 kW" } as StepLine;
  const differ = (before: StepLine | null, after: StepLine | null) =>
    differs({ title: "x", before, after });
  assert.equal(differ(done, { ...done, id: "b0" }), false);
  assert.equal(differ(done, { ...done, summary: "9 kW" }), true);
  assert.equal(differ(done, { ...done, status: "failed" }), true);
  assert.equal(differ(done, null), true);
});

Deno.test("of a subtask and what repeats it, only the last is compared; plans and reviews are not", () => {
  const run = {
    steps: [
      line("plan", "Plan", false),
      line("wo-001.0", "x"),
      line("wo-001.1", "y"),
      line("wo-002.0", "y"),
    ],
    work_orders: [
      { subtasks: [{ repairs_subtask: null }, { repairs_subtask: null }] },
      { subtasks: [{ repairs_subtask: "wo-001.1" }] },
    ],
  } as unknown as Parameters<typeof currentSubtasks>[0];
  assert.deepEqual(currentSubtasks(run).map(({ id }) => id), ["wo-001.0", "wo-002.0"]);
});
