// The time of the server as a signal that ticks once a second while the tab is visible. Ages and growing bars read it.

import { signal } from "@preact/signals";

/** Up to this difference, in milliseconds, the clocks agree: a `Date` header has whole seconds. */
const AGREE_MS = 5_000;

let correction = 0;

export const now = signal(Date.now());

/** Learn the server's time from the date of a response. */
export function syncClock(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  correction = Math.abs(difference) <= AGREE_MS ? 0 : difference;
}

export function startClock(): void {
  function tickIfVisible(): void {
    if (!document.hidden) now.value = Date.now() + correction;
  }
  setInterval(tickIfVisible, 1000);
  document.addEventListener("visibilitychange", tickIfVisible);
}
