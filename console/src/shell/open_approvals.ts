// The number of open approvals and questions: loaded for the header, taken from the inbox where that is shown.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "../api.ts";
import { useLoaded } from "../ui/loading.ts";
import type { RunLine } from "../wire.ts";

const MOST_RUNS = 200;

export const openApprovals = signal(0);

/** The runs that wait for a person. */
export const getAsking = (options?: { signal: AbortSignal }) =>
  get("/api/runs", { asking: true, limit: MOST_RUNS }, options);

export function countAsking(runs: readonly RunLine[]): void {
  openApprovals.value = runs.reduce((sum, { asking }) => sum + asking, 0);
}

/** Return the number of open approvals and questions, kept up to date while the component exists. */
export function useOpenApprovals(): number {
  const { value } = useLoaded(getAsking, { key: "asking", live: true });
  useEffect(() => {
    if (value) countAsking(value.runs);
  }, [value]);
  return openApprovals.value;
}
