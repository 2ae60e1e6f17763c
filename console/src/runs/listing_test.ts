// Test that the list of runs stays complete while it is refreshed, extended and filtered.

import assert from "node:assert/strict";
import type { RunLine } from "../wire.ts";
import { EMPTY, extended, refreshed, startOf } from "./listing.ts";

function run(id: number, status: RunLine["status"] = "running"): RunLine {
  const created_at = new Date(Date.UTC(2026, 0, 1) + id * 1000).toISOString();
  return { run_id: `run_${id}`, status, created_at } as RunLine;
}

const ids = (listing: { lines: readonly RunLine[] }) => listing.lines.map((line) => line.run_id);

Deno.test("the newest page replaces the list until more pages are fetched", () => {
  const held = refreshed(EMPTY, { runs: [run(2), run(1)], next_cursor: "c" });
  const next = refreshed(held, { runs: [run(3), run(2)], next_cursor: "d" });
  assert.deepEqual(ids(next), ["run_3", "run_2"]);
  assert.equal(next.cursor, "d");
});

Deno.test("older pages stay while the newest page is refreshed", () => {
  const first = refreshed(EMPTY, { runs: [run(4), run(3)], next_cursor: "c" });
  const whole = extended(first, { runs: [run(2), run(1)], next_cursor: null });
  const next = refreshed(whole, { runs: [run(5), run(4, "succeeded")], next_cursor: "e" });
  assert.deepEqual(ids(next), ["run_5", "run_4", "run_3", "run_2", "run_1"]);
  assert.equal(next.lines[1]!.status, "succeeded");
  assert.equal(next.cursor, null);
});

Deno.test("a run that no longer matches the filter is removed, if the newest page covers its time", () => {
  const first = refreshed(EMPTY, { runs: [run(4), run(3)], next_cursor: "c" });
  const whole = extended(first, { runs: [run(2), run(1)], next_cursor: "d" });
  const next = refreshed(whole, { runs: [run(4), run(2)], next_cursor: "e" });
  assert.deepEqual(ids(next), ["run_4", "run_2", "run_1"]);
});

Deno.test("a page that overlaps the list adds no run twice", () => {
  const first = refreshed(EMPTY, { runs: [run(3), run(2)], next_cursor: "c" });
  assert.deepEqual(ids(extended(first, { runs: [run(2), run(1)], next_cursor: null })), [
    "run_3",
    "run_2",
    "run_1",
  ]);
});

Deno.test("a span of time becomes its start, to the minute; a moment stays as it is", () => {
  const now = Date.UTC(2026, 10, 21, 17, 4, 51);
  assert.equal(startOf("1h", now), "2026-11-21T16:04:00.000Z");
  assert.equal(startOf("2026-11-01T00:00:00Z", now), "2026-11-01T00:00:00Z");
  assert.equal(startOf("", now), undefined);
});
