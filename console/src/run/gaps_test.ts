// Test the grouping of what is missing.

import assert from "node:assert/strict";
import { causesOf, type Missing } from "./gaps.ts";

const missing = (name: string, reason: string, kind = "unavailable"): Missing => ({
  key: name,
  name,
  class: kind,
  reason,
  next: "",
});

Deno.test("reasons that differ only in what they name are one cause, and the most frequent comes first", () => {
  const causes = causesOf([
    missing("a", "the meter does not answer", "transient"),
    missing("b", "price_check failed: the shop does not list SKU-0005"),
    missing("c", "price_check failed: the shop does not list SKU-0017"),
    missing("d", "the meter does not answer"),
  ]);
  assert.deepEqual(causes.map(({ parts, same }) => [parts.length, same]), [
    [2, false],
    [1, true],
    [1, true],
  ]);
  assert.equal(causes[0]!.reason, "price_check failed: the shop does not list SKU-0005");
});

Deno.test("equal reasons are the same", () => {
  assert.equal(causesOf([missing("a", "gone"), missing("b", "gone")])[0]!.same, true);
});
