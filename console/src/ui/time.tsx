// Times: how long ago, how long until, how long; the exact moment on hover.

import { now } from "../clock.ts";
import { age, duration, moment } from "../formats.ts";

/** How long ago: "3 min". `word` follows: "3 min ago". */
export function Age({ at, word = "" }: { at: string; word?: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {age(now.value - Date.parse(at))}
      {word && ` ${word}`}
    </time>
  );
}

/** How long until a moment, or "now" once it is past. */
export function Until({ at }: { at: string }) {
  const left = (Date.parse(at) - now.value) / 1000;
  return (
    <time dateTime={at} title={moment(at)}>
      {left > 0 ? `in ${duration(Math.max(1, Math.round(left)))}` : "now"}
    </time>
  );
}

/** How long something took, or has taken so far. */
export function Took({ from, to }: { from: string; to: string | null }) {
  const until = to === null ? now.value : Date.parse(to);
  return <span>{duration((until - Date.parse(from)) / 1000)}</span>;
}
