// The present time as a signal that ticks once a second while the tab is visible: ages and bars that grow read it.
// It is the server's time, which all that is shown was dated by.

import { signal } from "@preact/signals";
import { type Ahead, aheadBy, correction, narrowed } from "./server_time.ts";

let ahead: Ahead | null = null;

export const now = signal(Date.now());

/** Learns from an answer of the service what time it is there; when it was asked and when it answered by `Date.now()`. */
export function heard(date: string | null, sent: number, arrived: number): void {
  const told = aheadBy(date, sent, arrived);
  if (told === null) return;
  const before = correction(ahead);
  ahead = narrowed(ahead, told);
  if (correction(ahead) !== before) tick();
}

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) tick();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) tick();
  });
}

function tick(): void {
  now.value = Date.now() + correction(ahead);
}
