// One polite live region for the whole page: short messages for screen readers.

import { signal } from "@preact/signals";

const message = signal("");

/** Announce a message to screen readers, and show it for a moment at the bottom of the page. */
export function announce(text: string): void {
  message.value = "";
  queueMicrotask(() => {
    message.value = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      message.value = "";
    }, 4000);
  });
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function Announcer() {
  return <div class="announcer" role="status" aria-live="polite">{message}</div>;
}
