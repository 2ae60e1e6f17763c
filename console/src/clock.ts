// The time of the server as a signal that ticks once a second while the tab is visible. Ages and growing bars read it.

import { signal } from "@preact/signals";
import { type Ahead, aheadBy, correction, narrowed } from "./server_time.ts";

let ahead: Ahead | null = null;

export const now = signal(Date.now());

/** Learn the time of the server from the date of an answer, and from when it was requested and arrived here. */
export function heard(date: string | null, sent: number, arrived: number): void {
  const bounds = aheadBy(date, sent, arrived);
  if (bounds === null) return;
  const before = correction(ahead);
  ahead = narrowed(ahead, bounds);
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
