// Test the server's time: never worse than a clock that is right, and close when this machine's clock is wrong.

import assert from "node:assert/strict";
import { type Bounds, boundsOf, correction, narrow } from "./server_time.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 21, 12);

/** Return the bounds after some responses to a clock that is `error` ms ahead; `at` is the right time of a request. */
function boundsAfter(
  error: number,
  responses: readonly { at: number; took: number }[],
): Bounds | null {
  let bounds: Bounds | null = null;
  for (const { at, took } of responses) {
    const date = new Date(at + took / 2).toUTCString(); // in whole seconds
    const newest = boundsOf(date, at + error, at + took + error);
    assert.ok(newest !== null);
    bounds = narrow(bounds, newest);
  }
  return bounds;
}

const RESPONSES = [0, 5_130, 10_270, 15_810, 20_940].map((ms) => ({ at: NOON + ms, took: 40 }));

Deno.test("a clock that may be right, as far as a date can show, is not corrected", () => {
  assert.equal(correction(null), 0);
  for (const error of [0, 30, 900]) {
    assert.equal(correction(boundsAfter(error, RESPONSES.slice(0, 1))), 0);
  }
});

Deno.test("the first response corrects a wrong clock to within about a second", () => {
  for (const error of [-7 * HOUR, -10_000, 10_000, 24 * HOUR]) {
    const off = correction(boundsAfter(error, RESPONSES.slice(0, 1))) + error;
    assert.ok(Math.abs(off) <= 1_500, `${error}: still ${off} ms off`);
  }
});

Deno.test("more responses never widen the bounds", () => {
  for (let number = 1; number < RESPONSES.length; number += 1) {
    const before = boundsAfter(HOUR, RESPONSES.slice(0, number))!;
    const after = boundsAfter(HOUR, RESPONSES.slice(0, number + 1))!;
    assert.ok(after.least >= before.least && after.most <= before.most);
    assert.ok(after.least <= -HOUR && after.most >= -HOUR, "the truth is within the bounds");
  }
});

Deno.test("a slow response does not change the bounds", () => {
  const bounds = boundsAfter(HOUR, RESPONSES)!;
  const slow = boundsOf(new Date(NOON).toUTCString(), NOON - HOUR, NOON + 9 * HOUR)!;
  assert.deepEqual(narrow(bounds, slow), bounds);
});

Deno.test("the next response notices that the clock was set right while the page is open", () => {
  const wrong = boundsAfter(HOUR, RESPONSES)!;
  const right = boundsOf(new Date(NOON + 60_000).toUTCString(), NOON + 60_000, NOON + 60_040)!;
  assert.equal(correction(narrow(wrong, right)), 0);
});

Deno.test("a response without a date gives no bounds", () => {
  for (const date of [null, "", "soon"]) assert.equal(boundsOf(date, 0, 1), null);
});
