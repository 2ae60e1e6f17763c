// The event log in words: one short row an entry, made once when the entry is folded; the entry itself is not kept.

import {
  assignmentOf,
  type Entry,
  type Failure,
  isInterruption,
  numberOf,
  type OpenCall,
} from "./entry.ts";
import { labelOf } from "./lane.ts";

/** What a row is about; a chip of the log each. */
export const KINDS = {
  problems: 1,
  tools: 2,
  models: 4,
  subtasks: 8,
  people: 16,
} as const;

export type Kind = keyof typeof KINDS;

export interface LogRow {
  seq: number;
  at: number;
  type: string;
  /** The type in words, what it is about (a lane's key or an order's id; "" for the run), and a line about it. */
  words: string;
  subject: string;
  text: string;
  kinds: number;
  problem: boolean;
}

const LONGEST_TEXT = 200;

type Told = [words: string, subject: string, text: string, kinds?: number];

const { problems, tools, models, subtasks, people } = KINDS;

export function rowOf(entry: Entry, at: number): LogRow {
  const [words, subject, text, kinds = 0] = told(entry);
  return {
    seq: entry.seq,
    at,
    type: entry.type,
    words,
    subject,
    text: oneLine(text),
    kinds,
    problem: (kinds & problems) !== 0,
  };
}

function told(entry: Entry): Told {
  switch (entry.type) {
    case "run_started":
      return ["run started", "", entry.definition.request];
    case "run_claimed":
      return ["run taken over", "", `by ${entry.owner}`];
    case "run_paused":
      return ["run paused", "", entry.reason ?? ""];
    case "run_waiting":
      return ["run waits for people", "", entry.reason ?? "", people];
    case "run_resumed":
      return ["run resumed", "", ""];
    case "run_reopened":
      return ["run reopened", "", `by ${entry.by}`, people];
    case "run_finished":
      return [
        "run finished",
        "",
        `${entry.status}${entry.failure ? `: ${why(entry.failure)}` : ""}`,
        entry.status === "failed" ? problems : 0,
      ];
    case "work_order_issued":
      return [
        entry.order.repairs ? "repair order issued" : "work order issued",
        entry.order.work_order_id,
        `${subtaskCount(entry.order.subtasks.length)}: ${entry.order.goal}`,
        subtasks,
      ];
    case "order_reviewed": {
      const wanting = entry.review.verdicts.some((verdict) => verdict.verdict !== "accept");
      return [
        "order reviewed",
        entry.work_order_id,
        reviewed(entry.review.verdicts),
        subtasks | (wanting ? problems : 0),
      ];
    }
    case "parts_refused":
      return [
        "out of reach",
        "",
        entry.parts.map((part) => `${part.what}: ${part.reason}`).join("; "),
        problems,
      ];
    case "assignment_issued":
      return ["handed out", entry.assignment.assignment_id, entry.assignment.role, subtasks];
    default:
      return aboutAttempts(entry) ?? aboutPeople(entry) ??
        [(entry as { type: string }).type.replaceAll("_", " "), "", ""];
  }
}

function aboutAttempts(entry: Entry): Told | null {
  switch (entry.type) {
    case "attempt_scheduled":
      return [
        `attempt ${numberOf(entry.attempt)} scheduled`,
        assignmentOf(entry.attempt),
        entry.feedback || (entry.continues ? `continues ${entry.continues}` : "afresh"),
        subtasks,
      ];
    case "attempt_started":
      return [
        `attempt ${numberOf(entry.attempt)} started`,
        assignmentOf(entry.attempt),
        `on ${entry.host}`,
        subtasks,
      ];
    case "attempt_returned": {
      const { result } = entry;
      const text = result.ok ? result.data?.summary ?? "" : why(result.error);
      return [
        result.ok ? "returned" : "returned without success",
        assignmentOf(entry.attempt),
        text,
        subtasks | (result.ok ? 0 : problems),
      ];
    }
    case "attempt_settled": {
      const words = entry.ok ? "completed" : entry.final ? "failed" : "will be tried again";
      const subject = assignmentOf(entry.attempt);
      const problem = !entry.ok && !isInterruption(entry.failure);
      return [words, subject, why(entry.failure), subtasks | (problem ? problems : 0)];
    }
    case "attempt_parked":
    case "attempt_held":
      return [
        "waits",
        assignmentOf(entry.attempt),
        openCalls(entry.open_calls),
        subtasks | (entry.type === "attempt_held" ? problems | people : 0),
      ];
    case "attempt_lost":
      return isInterruption(entry.failure)
        ? ["interrupted", assignmentOf(entry.attempt), entry.failure.message, subtasks]
        : ["attempt lost", assignmentOf(entry.attempt), why(entry.failure), subtasks | problems];
    case "model_call_began":
      return ["model asked", assignmentOf(entry.attempt), entry.model, models];
    case "model_call_returned": {
      const { usage } = entry;
      const used = usage ? `${usage.input_tokens} in, ${usage.output_tokens} out` : "usage unknown";
      return [
        entry.failure ? "model failed" : "model answered",
        assignmentOf(entry.attempt),
        entry.failure ? why(entry.failure) : `${entry.model}: ${used}`,
        models | (entry.failure ? problems : 0),
      ];
    }
    case "tool_call_began":
      return ["tool called", assignmentOf(entry.attempt), labelOf(entry.tool, entry.args), tools];
    case "tool_call_returned":
      return [
        entry.ok ? "tool answered" : "tool failed",
        assignmentOf(entry.attempt),
        entry.ok ? `${entry.tool}: ${entry.summary ?? "data"}` : why(entry.failure),
        tools | (entry.ok ? 0 : problems),
      ];
    case "conversation_compacted":
      return [
        "conversation shortened",
        assignmentOf(entry.attempt),
        `through turn ${entry.through}`,
        models,
      ];
    case "subtask_blocked":
      return ["blocked", entry.subtask, `it needs ${entry.cause}`, subtasks | problems];
    case "child_answered":
      return [
        entry.ok ? "another worker answered" : "another worker failed",
        entry.call_id.split("/t")[0] ?? "",
        entry.content,
        subtasks | (entry.ok ? 0 : problems),
      ];
    default:
      return null;
  }
}

function aboutPeople(entry: Entry): Told | null {
  switch (entry.type) {
    case "subtask_resolved":
      return [
        entry.data ? "result supplied" : "left out",
        entry.subtask,
        `by ${entry.by}${entry.reason ? `: ${entry.reason}` : ""}`,
        subtasks | people,
      ];
    case "approval_requested": {
      const { approval } = entry;
      const asked = approval.kind === "call"
        ? "asked whether to call"
        : "asked whether it happened";
      return [
        asked,
        assignmentOf(approval.attempt),
        labelOf(approval.tool, approval.args),
        people | tools,
      ];
    }
    case "approval_answered": {
      const answer = entry.approve ? entry.always ? "yes, always" : "yes" : "no";
      return [
        `${by(entry.by)} said ${answer}`,
        laneOfCall(entry.approval_id),
        entry.reason ?? "",
        people,
      ];
    }
    case "effect_answered":
      return [
        `${by(entry.by)} said that it ${entry.happened ? "happened" : "did not happen"}`,
        laneOfCall(entry.approval_id),
        entry.summary ?? "",
        people,
      ];
    case "approval_expired":
      return [
        "nobody answered in time",
        laneOfCall(entry.approval_id),
        "that is a no",
        people | problems,
      ];
    case "retry_requested": {
      const which = entry.subtasks?.length ? entry.subtasks.join(", ") : "all that failed";
      return [`${by(entry.by)} asked for a retry`, "", which, people];
    }
    case "retry_granted":
      return ["retry granted", "", entry.subtasks.join(", "), people | subtasks];
    case "skip_requested":
      return [`${by(entry.by)} asked to leave it out`, entry.subtask, entry.reason ?? "", people];
    case "result_supplied":
      return [`${by(entry.by)} gave a result`, entry.subtask, entry.summary, people];
    case "cancel_requested":
      return [`${by(entry.by)} asked to cancel`, "", "", people];
    case "pause_requested":
      return [`${by(entry.by)} asked to pause`, "", entry.reason ?? "", people];
    case "resume_requested":
      return [`${by(entry.by)} asked to go on`, "", "", people];
    case "request_declined":
      return ["request declined", "", entry.reason, people | problems];
    default:
      return null;
  }
}

const by = (name: string | undefined) => name || "somebody";

/** The assignment a call is of: `wo-001.0/t1/c0` is a call of `wo-001.0`. */
function laneOfCall(callId: string): string {
  const at = callId.lastIndexOf("/t");
  return at < 0 ? callId : callId.slice(0, at);
}

function why(failure: Failure | null | undefined): string {
  return failure ? `${failure.message} (${failure.class})` : "";
}

function openCalls(calls: OpenCall[]): string {
  return calls.map((call) => labelOf(`${call.kind} ${call.tool ?? ""}`.trim(), call.args)).join(
    "; ",
  );
}

function subtaskCount(number: number): string {
  return number === 1 ? "1 subtask" : `${number} subtasks`;
}

const VERDICT_WORDS = [["accept", "accepted"], ["retry", "to retry"], ["replan", "to replan"], [
  "drop",
  "dropped",
]] as const;

function reviewed(verdicts: { verdict: string }[]): string {
  return VERDICT_WORDS
    .map(([verdict, word]) => [verdicts.filter((each) => each.verdict === verdict).length, word])
    .filter(([number]) => number)
    .map(([number, word]) => `${number} ${word}`)
    .join(", ");
}

function oneLine(text: string): string {
  const line = (text.length > 2 * LONGEST_TEXT ? text.slice(0, 2 * LONGEST_TEXT) : text)
    .replace(/\s+/g, " ").trim();
  return line.length > LONGEST_TEXT ? `${line.slice(0, LONGEST_TEXT - 1)}…` : line;
}

// --- choosing rows ---------------------------------------------------------------------------------------------------

export interface Filter {
  text: string;
  kinds: number;
}

/** Rows that pass a filter, kept up to date by looking at new rows only. */
export class FilteredRows {
  #filter: Filter = { text: "", kinds: 0 };
  #seen = 0;
  #rows: LogRow[] = [];
  #log: LogRow[] | null = null;

  rows(log: LogRow[], filter: Filter): LogRow[] {
    if (!filter.text && !filter.kinds) return log;
    const changed = filter.text !== this.#filter.text || filter.kinds !== this.#filter.kinds;
    if (changed || log !== this.#log) {
      this.#filter = { ...filter };
      this.#log = log;
      this.#rows = [];
      this.#seen = 0;
    }
    const text = filter.text.toLowerCase();
    for (; this.#seen < log.length; this.#seen += 1) {
      const row = log[this.#seen]!;
      if (passes(row, filter.kinds, text)) this.#rows.push(row);
    }
    return this.#rows;
  }
}

function passes(row: LogRow, kinds: number, text: string): boolean {
  if (kinds && (row.kinds & kinds) === 0) return false;
  return !text ||
    `${row.seq} ${row.words} ${row.subject} ${row.text} ${row.type}`.toLowerCase().includes(text);
}
