// Test how the subtasks of two runs are paired.

import assert from "node:assert/strict";
import type { AssignmentLine } from "../wire.ts";
import { differs, pairsOf } from "./pairs.ts";

const line = (id: string, title: string, counts = true) =>
  ({ id, title, counts }) as AssignmentLine;

Deno.test("subtasks are paired by title, and those of one run alone are shown alone", () => {
  const pairs = pairsOf(
    [line("a0", "noise · Paris"), line("a1", "noise · Rome"), line("plan", "Plan", false)],
    [line("b0", "noise · Rome"), line("b1", "noise · Oslo"), line("plan", "Plan", false)],
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
  const done = { ...line("a0", "x"), status: "completed", summary: "7 kW" } as AssignmentLine;
  const differ = (before: AssignmentLine | null, after: AssignmentLine | null) =>
    differs({ title: "x", before, after });
  assert.equal(differ(done, { ...done, id: "b0" }), false);
  assert.equal(differ(done, { ...done, summary: "9 kW" }), true);
  assert.equal(differ(done, { ...done, status: "failed" }), true);
  assert.equal(differ(done, null), true);
});
