// The number of open approvals: polled for the header, taken from the inbox where that is shown.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getApprovals } from "../api.ts";
import { useLoaded } from "../ui/loading.ts";

const EVERY_MS = 5000;

export const openApprovals = signal(0);

/** Return the number of open approvals, kept up to date while the component exists. */
export function useOpenApprovals(): number {
  const { value } = useLoaded(getApprovals, {
    key: "approvals",
    everyMs: EVERY_MS,
  });
  useEffect(() => {
    if (value) openApprovals.value = value.approvals.length;
  }, [value]);
  return openApprovals.value;
}
