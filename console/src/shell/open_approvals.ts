// The number of open approvals and questions: polled for the header, taken from the inbox where that is shown.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getRuns } from "../api.ts";
import { useLoaded } from "../ui/loading.ts";
import type { RunLine } from "../wire.ts";

const EVERY_MS = 5000;
const MOST_RUNS = 200;

export const openApprovals = signal(0);

/** The runs that wait for a person. */
export const getAsking = (options?: { signal: AbortSignal }) =>
  getRuns({ asking: true, limit: MOST_RUNS }, options);

export function countAsking(runs: readonly RunLine[]): void {
  openApprovals.value = runs.reduce((sum, { asking }) => sum + asking, 0);
}

/** Return the number of open approvals and questions, kept up to date while the component exists. */
export function useOpenApprovals(): number {
  const { value } = useLoaded(getAsking, { key: "asking", everyMs: EVERY_MS });
  useEffect(() => {
    if (value) countAsking(value.runs);
  }, [value]);
  return openApprovals.value;
}
