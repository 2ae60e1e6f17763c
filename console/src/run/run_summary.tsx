// How the run stands, in one sentence for those who do not see the screen: said anew every five seconds at most.

import { useEffect, useRef, useState } from "preact/hooks";
import { statusOf } from "./head.tsx";
import type { RunStore } from "./store.ts";

const EVERY_MS = 5_000;

export function RunSummary({ store }: { store: RunStore }) {
  const [said, setSaid] = useState("");
  const newest = useRef("");
  newest.current = summaryOf(store);
  useEffect(() => {
    setSaid(newest.current);
    const timer = setInterval(() => setSaid(newest.current), EVERY_MS);
    return () => clearInterval(timer);
  }, [store]);
  return <p class="unseen" role="status">{said}</p>;
}

function summaryOf(store: RunStore): string {
  const model = store.live;
  const { counts } = model;
  const parts = [`Run ${statusOf(store)}`, `${model.done} of ${model.total} workers done`];
  if (counts.running) parts.push(`${counts.running} running`);
  if (counts.retrying) parts.push(`${counts.retrying} retrying`);
  if (model.failed) parts.push(`${model.failed} failed`);
  if (model.leftOut) parts.push(`${model.leftOut} left out`);
  if (store.cards.value.length) parts.push(`${store.cards.value.length} waiting for your answer`);
  return parts.join(", ");
}
