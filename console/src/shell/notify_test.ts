// Test what a hidden tab notifies about.

import assert from "node:assert/strict";
import type { RunLine } from "../wire.ts";
import { knownOf, newsOf } from "./notify.ts";

function run(id: string, status: RunLine["status"], asking = 0): RunLine {
  return { run_id: id, status, asking, name: "", request: `request ${id}` } as RunLine;
}

const titles = (before: readonly RunLine[], now: readonly RunLine[]) =>
  newsOf(knownOf(before), now).map(({ runId, title }) => `${runId}: ${title}`);

Deno.test("a run that asks, finishes or fails is news, once", () => {
  const before = [run("a", "running"), run("b", "running"), run("c", "waiting", 1)];
  const now = [run("a", "waiting", 1), run("b", "failed"), run("c", "succeeded")];
  assert.deepEqual(titles(before, now), [
    "a: A run waits for you",
    "b: Run failed",
    "c: Run succeeded",
  ]);
  assert.deepEqual(titles(now, now), []);
});

Deno.test("answered questions, progress and older runs are not reported", () => {
  const before = [run("a", "waiting", 2), run("b", "queued"), run("c", "partial")];
  const now = [run("a", "waiting", 1), run("b", "running"), run("c", "partial")];
  assert.deepEqual(titles(before, now), []);
});

Deno.test("a run that started and ended in between is news", () => {
  assert.deepEqual(titles([], [run("d", "cancelled")]), ["d: Run cancelled"]);
});
