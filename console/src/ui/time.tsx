// Times: how long ago and how long until, with the exact moment on hover.

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
