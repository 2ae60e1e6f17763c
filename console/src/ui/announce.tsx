// One polite live region for the whole page: short messages for screen readers.

import { signal } from "@preact/signals";

const words = signal("");

/** Announce a message; it is also shown for a moment at the bottom of the page. */
export function announce(text: string): void {
  words.value = "";
  queueMicrotask(() => {
    words.value = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      words.value = "";
    }, 4000);
  });
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function Announcer() {
  return <div class="announcer" role="status" aria-live="polite">{words}</div>;
}
