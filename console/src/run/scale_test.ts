import { fitting, FOLD_WIDTH, momentIn, scaleOf, tickLabel } from "./scale.ts";

const DAY = 86_400_000;

/** A number in [0, 1) at each call (mulberry32). */
function randomness(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

Deno.test("time never goes back on the axis, whatever is folded", () => {
  const random = randomness(5);
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
      if (x < last - 1e-6) throw new Error(`${x} after ${last}`);
      last = x;
    }
    if (Math.abs(last - scale.width) > 1e-6) throw new Error("the end is not at the width");
  }
});

Deno.test("a run fits exactly into the width it is fitted to", () => {
  const idle: [number, number][] = [[10_000, DAY], [DAY + 5_000, 2 * DAY]];
  for (const width of [200, 640, 1500]) {
    const scale = scaleOf(0, 2 * DAY + 7_000, idle, fitting(0, 2 * DAY + 7_000, idle, width));
    if (Math.abs(scale.width - width) > 1e-6) throw new Error(`${scale.width} for ${width}`);
  }
});

Deno.test("a night in which nothing ran takes a narrow band, and a short pause takes its time", () => {
  const idle: [number, number][] = [[60_000, 60_000 + DAY], [DAY + 90_000, DAY + 93_000]];
  const { folds } = scaleOf(0, DAY + 120_000, idle, 10);
  if (folds.length !== 1) throw new Error(`${folds.length} folds`);
  const scale = scaleOf(0, DAY + 120_000, idle, 10);
  const band = scale.x(60_000 + DAY) - scale.x(60_000);
  if (Math.abs(band - FOLD_WIDTH) > 1e-6) throw new Error(`a band of ${band}`);
});

Deno.test("ticks stand apart and none stands in a fold", () => {
  const idle: [number, number][] = [[30_000, 4_000_000]];
  for (const pixels of [0.5, 3, 20, 200]) {
    const { ticks, folds } = scaleOf(0, 4_060_000, idle, pixels);
    ticks.reduce((before, tick) => {
      if (tick.x - before < 50) throw new Error(`${tick.x} after ${before}`);
      return tick.x;
    }, -Infinity);
    if (ticks.some((tick) => folds.some((fold) => tick.at > fold.from && tick.at < fold.to))) {
      throw new Error("a tick in a fold");
    }
  }
});

Deno.test("moments are told as short as they can be", () => {
  const told = [0, 0.5, 45, 125, 3725].map(tickLabel).join(" | ");
  if (told !== "0 s | 0.5 s | 45 s | 2:05 | 1:02:05") throw new Error(told);
});

Deno.test("moments of a short run are told apart to the millisecond, those of a long one by the axis", () => {
  const told = [momentIn(0, 900), momentIn(42, 900), momentIn(42, 10_000), momentIn(65_042, 1e6)];
  if (told.join(" | ") !== "0.000 s | 0.042 s | 0 s | 1:05") throw new Error(told.join(" | "));
});
