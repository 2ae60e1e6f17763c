// The present time as a signal that ticks once a second while the tab is visible: ages read it.

import { signal } from "@preact/signals";

export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) now.value = Date.now();
  });
}
