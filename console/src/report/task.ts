// The task of a report run, as its document has it.

import type { RunDocument } from "../wire.ts";

export type Support = "supported" | "unsupported" | "own_reasoning";

export interface Statement {
  readonly index: number;
  /** A part of the draft, letter by letter, with its citations. */
  readonly text: string;
  readonly status: Support;
  /** The ids of the passages that it cites, in order; the name of one that does not exist. */
  readonly passages: readonly string[];
  readonly problems: readonly string[];
}

export interface Finding {
  /** A stage, or "citation check". */
  readonly by: string;
  /** The index of a statement; null for a finding about the whole draft. */
  readonly sentence: number | null;
  readonly text: string | null;
  readonly problem: string;
}

interface Feedback {
  readonly verdict: "APPROVED" | "NEEDS_REVISION" | null;
  readonly findings: readonly Finding[];
  /** What no reviewer judged. */
  readonly unreviewed: readonly string[];
}

export interface Review {
  readonly key: string;
  readonly stage: string;
  readonly status: string;
  readonly error: string | null;
}

export interface Draft extends Feedback {
  readonly key: string;
  readonly number: number;
  readonly status: string;
  /** The draft that this one revises. */
  readonly revises: string | null;
  readonly text: string | null;
  readonly statements: readonly Statement[];
  readonly reviews: readonly Review[];
  readonly error: string | null;
}

export interface Passage {
  readonly id: string;
  readonly text: string;
  readonly title: string;
  readonly url: string;
  readonly published: string;
  /** The address that opens the source at the passage. */
  readonly link: string;
}

export interface Question {
  readonly key: string;
  readonly heading: string;
  readonly question: string;
  readonly status: string;
  readonly summary: string;
  readonly findings: readonly unknown[];
  readonly error: string | null;
}

export interface StageState {
  readonly name: string;
  readonly status: string;
  readonly assignments: readonly string[];
}

export interface ReportTask {
  readonly plan: { readonly title: string; readonly sections: readonly unknown[] } | null;
  readonly research: readonly Question[];
  readonly final_report: string | null;
  readonly stages: readonly StageState[];
  readonly drafts: readonly Draft[];
  readonly passages: { readonly [id: string]: Passage };
}

/** Return the task of a report run; null for a run of another flow, and before the document is loaded. */
export function taskOf(document: RunDocument | null): ReportTask | null {
  return document?.flow === "report" && document.task
    ? document.task as unknown as ReportTask
    : null;
}
