// Test which limits are sent, and which runs can continue with more.

import assert from "node:assert/strict";
import type { RunDocument } from "../wire.ts";
import { proposedLimits, ranOut, typedLimits } from "./limits.ts";

Deno.test("empty fields keep their limits", () => {
  assert.deepEqual(typedLimits({ budget: "2.5", timeout: " ", max_requests: "" }), { budget: 2.5 });
});

Deno.test("proposed limits are those that continue a run as they are", () => {
  const proposed = { max_requests: 11, budget: 0.002 };
  assert.deepEqual(proposedLimits({ proposed_limits: proposed }), {
    max_requests: "11",
    budget: "0.002",
  });
  assert.deepEqual(typedLimits(proposedLimits({ proposed_limits: proposed })), proposed);
  assert.deepEqual(proposedLimits(null), {});
});

Deno.test("a run ran out if it, a part of its answer or a review failed because a limit was used up", () => {
  const failed = (name: string | null) => name && { class: name, message: name, reason: name };
  const run = (failure: string | null, gaps: string[], ...lanes: object[]) =>
    ranOut(
      { failure: failed(failure), gaps: gaps.map(failed) } as unknown as RunDocument,
      lanes as Parameters<typeof ranOut>[1],
      20,
    );
  const review = { failure: { class: "exhausted", message: "no calls left" }, settled_seq: 30 };
  assert.equal(run("exhausted", []), "exhausted");
  assert.equal(run(null, ["transient", "exhausted"]), "exhausted");
  assert.equal(run(null, ["insufficient"], review), "no calls left");
  assert.equal(run(null, [], { ...review, settled_seq: 12 }), "");
  assert.equal(run("unavailable", ["transient"], {}), "");
});
