// The task of a report run, as its document has it.

import type { ReportTask, RunDocument } from "../wire.ts";

export type {
  CitedPassage as Passage,
  ReportClaim as Claim,
  ReportDraft as Draft,
  ReportFinding as Finding,
  ReportTask,
  StageState,
} from "../wire.ts";

/** Return the task of a report run; null for a run of another flow, and before the document is loaded. */
export function taskOf(document: RunDocument | null): ReportTask | null {
  return document?.task ?? null;
}
