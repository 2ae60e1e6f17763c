// The state of the run in one sentence for screen readers, at most every five seconds.

import { useEffect, useRef, useState } from "preact/hooks";
import { endsOf } from "./model.ts";
import type { RunStore } from "./store.ts";

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
  const { counts } = model.view;
  const { current } = counts;
  const parts = [
    `Run ${store.status}`,
    `${current.completed} of ${current.total} steps completed`,
  ];
  if (counts.running) parts.push(`${counts.running} running`);
  if (counts.retrying) parts.push(`${counts.retrying} retrying`);
  for (const [end, number] of Object.entries(endsOf(model))) {
    if (number > 0) parts.push(`${number} ${end}`);
  }
  const asked = store.cards.value.length + (store.document.value?.question ? 1 : 0);
  if (asked > 0) parts.push(`${asked} waiting for your answer`);
  return parts.join(", ");
}
