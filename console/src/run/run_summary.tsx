// The state of the run in one sentence for screen readers, at most every five seconds.

import { useEffect, useRef, useState } from "preact/hooks";
import { countsOf } from "./state/model.ts";
import type { RunStore } from "./state/store.ts";
import { STATUS_WORDS } from "./words.ts";

const EVERY_MS = 5_000;

export function RunSummary({ store }: { store: RunStore }) {
  const [summary, setSummary] = useState("");
  const newest = useRef("");
  newest.current = summaryOf(store);
  useEffect(() => {
    setSummary(newest.current);
    const timer = setInterval(() => setSummary(newest.current), EVERY_MS);
    return () => clearInterval(timer);
  }, [store]);
  return <p class="unseen" role="status">{summary}</p>;
}

function summaryOf(store: RunStore): string {
  const model = store.live;
  const number = countsOf(model);
  const parts = [
    `Run ${store.status}`,
    `${number("completed")} of ${number()} steps completed`,
  ];
  for (const status of ["running", "retrying", "failed", "dropped", "cancelled"] as const) {
    if (number(status) > 0) parts.push(`${number(status)} ${STATUS_WORDS[status].toLowerCase()}`);
  }
  const asked = store.cards.value.length + (store.document.value?.question ? 1 : 0);
  if (asked > 0) parts.push(`${asked} waiting for your answer`);
  return parts.join(", ");
}
