// Test the time axis.

import assert from "node:assert/strict";
import { seededRandom } from "../../seeded_random_test.ts";
import { fitting, FOLD_WIDTH, momentIn, scaleOf, tickLabel } from "./scale.ts";

const DAY = 86_400_000;

Deno.test("time never goes back on the axis, with any folds", () => {
  const random = seededRandom(5);
  for (let round = 0; round < 50; round += 1) {
    const idle: [number, number][] = [];
    let at = 0;
    while (at < 600_000) {
      const from = at + random() * 60_000;
      const to = from + 2_000 + random() * DAY * (random() < 0.1 ? 1 : 0.0005);
      idle.push([from, to]);
      at = to;
    }
    const end = at + random() * 60_000;
    const scale = scaleOf(0, end, idle, 0.5 + random() * 50);
    let last = -1;
    for (let step = 0; step <= 500; step += 1) {
      const x = scale.x((end * step) / 500);
      assert.ok(x >= last - 1e-6, `${x} after ${last}`);
      last = x;
    }
    assert.ok(Math.abs(last - scale.width) <= 1e-6, "the end is at the width");
  }
});

Deno.test("a run fits exactly into its width", () => {
  const idle: [number, number][] = [[10_000, DAY], [DAY + 5_000, 2 * DAY]];
  for (const width of [200, 640, 1500]) {
    const scale = scaleOf(0, 2 * DAY + 7_000, idle, fitting(0, 2 * DAY + 7_000, idle, width));
    assert.ok(Math.abs(scale.width - width) <= 1e-6, `${scale.width} for ${width}`);
  }
});

Deno.test("a long idle stretch takes a narrow band, a short one its time", () => {
  const idle: [number, number][] = [[60_000, 60_000 + DAY], [DAY + 90_000, DAY + 93_000]];
  const scale = scaleOf(0, DAY + 120_000, idle, 10);
  assert.equal(scale.folds.length, 1);
  const band = scale.x(60_000 + DAY) - scale.x(60_000);
  assert.ok(Math.abs(band - FOLD_WIDTH) <= 1e-6, `a band of ${band}`);
});

Deno.test("ticks keep their distance and none is in a fold", () => {
  const idle: [number, number][] = [[30_000, 4_000_000]];
  for (const pixels of [0.5, 3, 20, 200]) {
    const { ticks, folds } = scaleOf(0, 4_060_000, idle, pixels);
    ticks.reduce((before, tick) => {
      assert.ok(tick.x - before >= 50, `${tick.x} after ${before}`);
      return tick.x;
    }, -Infinity);
    const isFolded = (at: number) => folds.some((fold) => at > fold.from && at < fold.to);
    assert.ok(!ticks.some((tick) => isFolded(tick.at)), "a tick in a fold");
  }
});

Deno.test("labels of ticks are as short as possible", () => {
  const labels = [0, 0.5, 45, 125, 3725].map(tickLabel);
  assert.deepEqual(labels, ["0 s", "0.5 s", "45 s", "2:05", "1:02:05"]);
});

Deno.test("moments of a short run have milliseconds, those of a long run look as on the axis", () => {
  assert.equal(momentIn(0, 900), "0.000 s");
  assert.equal(momentIn(42, 900), "0.042 s");
  assert.equal(momentIn(42, 10_000), "0 s");
  assert.equal(momentIn(65_042, 1e6), "1:05");
});
