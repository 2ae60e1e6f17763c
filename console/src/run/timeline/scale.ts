// The time axis: moments to pixels, with long idle stretches folded to a narrow band.

interface Fold {
  from: number;
  to: number;
  x: number;
}

export interface Scale {
  x(at: number): number;
  width: number;
  folds: Fold[];
  ticks: { at: number; x: number; label: string }[];
}

export const FOLD_WIDTH = 28;
const MIN_FOLD_MS = 2_000;
const MIN_TICK_PX = 72;

/** The pixels per second at which all of a run fits into `width`. */
export function fitting(
  from: number,
  to: number,
  idle: readonly [number, number][],
  width: number,
): number {
  const folds = foldsOf(from, to, idle);
  const folded = folds.reduce((sum, [start, end]) => sum + end - start, 0);
  const seconds = Math.max(0.05, (to - from - folded) / 1000);
  return Math.max(1, width - folds.length * FOLD_WIDTH) / seconds;
}

export function scaleOf(
  from: number,
  to: number,
  idle: readonly [number, number][],
  pixelsPerSecond: number,
): Scale {
  const perMs = pixelsPerSecond / 1000;
  const folds: Fold[] = [];
  let cut = 0; // milliseconds folded away so far
  for (const [start, end] of foldsOf(from, to, idle)) {
    folds.push({
      from: start,
      to: end,
      x: (start - from - cut) * perMs + folds.length * FOLD_WIDTH,
    });
    cut += end - start;
  }
  const x = (at: number): number => {
    const fold = foldBefore(folds, at);
    if (!fold) return Math.max(0, at - from) * perMs;
    if (at < fold.to) return fold.x + FOLD_WIDTH * ((at - fold.from) / (fold.to - fold.from));
    return fold.x + FOLD_WIDTH + (at - fold.to) * perMs;
  };
  const width = x(Math.max(from, to));
  return { x, width, folds, ticks: ticksOf(from, to, x, folds, pixelsPerSecond) };
}

/** Return the idle stretches to fold: longer than two seconds and than a twelfth of the rest of the run. */
function foldsOf(from: number, to: number, idle: readonly [number, number][]): [number, number][] {
  const within = idle.filter(([start, end]) =>
    start >= from && end <= to && end - start >= MIN_FOLD_MS
  );
  const active = to - from - within.reduce((sum, [start, end]) => sum + end - start, 0);
  const least = Math.max(MIN_FOLD_MS, active / 12);
  return within.filter(([start, end]) => end - start >= least);
}

/** Return the last fold that begins at or before a moment. */
function foldBefore(folds: readonly Fold[], at: number): Fold | undefined {
  return folds.findLast(({ from }) => from <= at);
}

/** Steps between ticks, in seconds. */
const STEPS_S = [0.1, 1, 60, 3600].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((n) => n * unit));
const MAX_TICKS = 400;

function ticksOf(
  from: number,
  to: number,
  x: (at: number) => number,
  folds: Fold[],
  pixelsPerSecond: number,
): Scale["ticks"] {
  const needed = Math.max(MIN_TICK_PX / pixelsPerSecond, (to - from) / 1000 / MAX_TICKS);
  const step = STEPS_S.find((each) => each >= needed) ?? Math.ceil(needed / 86_400) * 86_400;
  const ticks: Scale["ticks"] = [];
  let free = 0;
  for (let number = 0; number * step * 1000 <= to - from; number += 1) {
    const at = from + number * step * 1000;
    const fold = foldBefore(folds, at);
    const place = x(at);
    if (place < free || (fold && at > fold.from && at < fold.to)) continue;
    ticks.push({ at, x: place, label: tickLabel(number * step) });
    free = place + MIN_TICK_PX * 0.75;
  }
  return ticks;
}

/** A shorter run shows moments in milliseconds, because many would be equal in tenths of a second. */
const SHORT_RUN_MS = 10_000;

/** Return a moment in a run that has lasted `lasted` milliseconds: `0.042 s` in a short run, else as on the axis. */
export function momentIn(sinceStart: number, lasted: number): string {
  return lasted < SHORT_RUN_MS
    ? `${(sinceStart / 1000).toFixed(3)} s`
    : tickLabel(sinceStart / 1000);
}

/** Return seconds since the start in short form: `0.5 s`, `45 s`, `2:05`, `1:02:05`. */
export function tickLabel(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`;
  const whole = Math.round(seconds);
  const two = (number: number) => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
