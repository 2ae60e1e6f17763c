// How many questions to people are open: polled for the header, taken from the inbox where that is shown.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getApprovals } from "../api.ts";
import { useLoaded } from "../ui/loading.ts";

const EVERY_MS = 5000;

export const openQuestions = signal(0);

/** The number of open questions, kept fresh while the component is there. */
export function useOpenQuestions(): number {
  const { value } = useLoaded((giving) => getApprovals(undefined, giving), {
    key: "questions",
    everyMs: EVERY_MS,
  });
  useEffect(() => {
    if (value) openQuestions.value = value.approvals.length;
  }, [value]);
  return openQuestions.value;
}
