// One polite live region for the whole page: short words for those who do not see what changed.

import { signal } from "@preact/signals";

const words = signal("");

/** Says something once. Also shown for a moment at the foot of the page. */
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
