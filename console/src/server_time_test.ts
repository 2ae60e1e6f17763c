// The server's time is told from its answers: never worse than a clock that is right, and near where ours is wrong.

import assert from "node:assert/strict";
import { type Ahead, aheadBy, correction, narrowed } from "./server_time.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 21, 12);

/** What is known after some answers: each sent at `at` by a right clock, which ours is `wrong` ahead of. */
function known(wrong: number, answers: readonly { at: number; took: number }[]): Ahead | null {
  let ahead: Ahead | null = null;
  for (const { at, took } of answers) {
    const date = new Date(at + took / 2).toUTCString(); // in whole seconds
    const told = aheadBy(date, at + wrong, at + took + wrong);
    assert.ok(told !== null);
    ahead = narrowed(ahead, told);
  }
  return ahead;
}

const ANSWERS = [0, 5_130, 10_270, 15_810, 20_940].map((ms) => ({ at: NOON + ms, took: 40 }));

Deno.test("a clock that may be right, as far as a date can tell, is left alone", () => {
  assert.equal(correction(null), 0);
  for (const wrong of [0, 30, 900]) assert.equal(correction(known(wrong, ANSWERS.slice(0, 1))), 0);
});

Deno.test("a clock that is wrong is put right to a second or so by the first answer", () => {
  for (const wrong of [-7 * HOUR, -10_000, 10_000, 24 * HOUR]) {
    const off = correction(known(wrong, ANSWERS.slice(0, 1))) + wrong;
    assert.ok(Math.abs(off) <= 1_500, `${wrong}: still ${off} ms off`);
  }
});

Deno.test("more answers never widen what is known", () => {
  for (let number = 1; number < ANSWERS.length; number += 1) {
    const before = known(HOUR, ANSWERS.slice(0, number))!;
    const after = known(HOUR, ANSWERS.slice(0, number + 1))!;
    assert.ok(after.least >= before.least && after.most <= before.most);
    assert.ok(after.least <= -HOUR && after.most >= -HOUR, "the truth is within");
  }
});

Deno.test("a slow answer tells little and spoils nothing", () => {
  const exact = known(HOUR, ANSWERS)!;
  assert.deepEqual(
    narrowed(exact, aheadBy(new Date(NOON).toUTCString(), NOON - HOUR, NOON + 9 * HOUR)!),
    exact,
  );
});

Deno.test("a clock that is put right while the page is open is believed at the next answer", () => {
  const wrong = known(HOUR, ANSWERS)!;
  const right = aheadBy(new Date(NOON + 60_000).toUTCString(), NOON + 60_000, NOON + 60_040)!;
  assert.equal(correction(narrowed(wrong, right)), 0);
});

Deno.test("an answer without a date tells nothing", () => {
  for (const date of [null, "", "soon"]) assert.equal(aheadBy(date, 0, 1), null);
});
