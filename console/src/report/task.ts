// The task of a report run, as its document has it.

import type { RunDocument, Task } from "../wire.ts";

export type {
  CitedPassage as Passage,
  Claim,
  ReportDraft as Draft,
  ReportFinding as Finding,
  Task as ReportTask,
} from "../wire.ts";

/** Return the task of a report run; null for a run of another flow, and before the document is loaded. */
export function taskOf(document: RunDocument | null): Task | null {
  return document?.task ?? null;
}
