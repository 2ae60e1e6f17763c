// The time of the server as a signal that ticks once a second while the tab is visible. Ages and growing bars read it.

import { signal } from "@preact/signals";
import { type Bounds, boundsOf, correction, narrow } from "./server_time.ts";

let bounds: Bounds | null = null;

export const now = signal(Date.now());

/** Learn the server's time from the date of a response and from when it was requested and arrived here. */
export function syncClock(date: string | null, sent: number, arrived: number): void {
  const newest = boundsOf(date, sent, arrived);
  if (newest === null) return;
  const before = correction(bounds);
  bounds = narrow(bounds, newest);
  if (correction(bounds) !== before) tick();
}

export function startClock(): void {
  function tickIfVisible(): void {
    if (!document.hidden) tick();
  }
  setInterval(tickIfVisible, 1000);
  document.addEventListener("visibilitychange", tickIfVisible);
}

function tick(): void {
  now.value = Date.now() + correction(bounds);
}
