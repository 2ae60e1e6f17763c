// Test which limits are sent, and which runs can continue with more.

import assert from "node:assert/strict";
import type { RunDocument } from "../wire.ts";
import { ranOut, typedLimits } from "./limits.ts";

Deno.test("empty fields keep their limits", () => {
  assert.deepEqual(typedLimits({ budget: "2.5", timeout: " ", max_requests: "" }), { budget: 2.5 });
});

Deno.test("a run ran out if it, or a part of its answer, failed because a limit was used up", () => {
  const run = (failure: string | null, ...gaps: string[]) =>
    ranOut(
      {
        failure: failure && { class: failure },
        gaps: gaps.map((each) => ({ class: each })),
      } as unknown as RunDocument,
    );
  assert.equal(run("exhausted"), true);
  assert.equal(run(null, "transient", "exhausted"), true);
  assert.equal(run("unavailable", "transient"), false);
});
