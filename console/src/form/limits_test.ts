// Test which limits are sent.

import assert from "node:assert/strict";
import { proposedLimits, typedLimits } from "./limits.ts";

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
