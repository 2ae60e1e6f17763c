// What the run screen shows of a run, and the few ways in which it changes. No DOM, no clock, no network.
//
// It is changed in place, so that a batch costs what the batch is long, however long the log is. `version` goes up with
// each batch that changed anything, `statuses` whenever a lane appeared or changed its status: who draws compares
// numbers, never objects.

import type { Approval, Event, Review, RunStatus, WorkOrder } from "./entry.ts";
import type { Attempt, Lane, LaneStatus } from "./lane.ts";
import { isOpen } from "./lane.ts";
import type { LogRow } from "./log_rows.ts";
import { emptySpend, type Spend } from "./spending.ts";

export interface Order {
  order: WorkOrder;
  by: string;
  seq: number;
  review: Review | null;
  reviewSeq: number | null;
}

export interface OpenQuestion {
  approval: Approval;
  status: "pending" | "approved" | "denied" | "expired";
  seq: number;
}

/** An answer that was given; its text is in the run document. */
export interface Finish {
  number: number;
  status: RunStatus;
  seq: number;
  at: number;
}

export interface Model {
  version: number;
  statuses: number;
  seq: number;
  request: string;
  flow: string;
  model: string;
  status: RunStatus;
  reason: string;
  startedAt: number | null;
  lastAt: number | null;
  finishedAt: number | null;
  lanes: Lane[];
  byKey: Map<string, Lane>;
  orders: Order[];
  byOrder: Map<string, Order>;
  cannot: { what: string; reason: string }[];
  counts: Record<LaneStatus, number>;
  /** Of the subtasks that nothing has replaced: how many, and what became of them. */
  total: number;
  done: number;
  failed: number;
  leftOut: number;
  /** What a retry of all that failed would do again. */
  retriable: number;
  spend: Spend;
  questions: Map<string, OpenQuestion>;
  pending: number;
  finishes: Finish[];
  log: LogRow[];
  firstProblem: number | null;
  /** Stretches of two seconds and more in which no attempt ran, for the time axis to fold. */
  idle: [number, number][];
  running: number;
  idleSince: number | null;
  /** Goes up when something happened that the run document tells more of. */
  documentWanted: number;
}

const IDLE_MS = 2_000;

export function emptyModel(): Model {
  return {
    version: 0,
    statuses: 0,
    seq: 0,
    request: "",
    flow: "",
    model: "",
    status: "queued",
    reason: "",
    startedAt: null,
    lastAt: null,
    finishedAt: null,
    lanes: [],
    byKey: new Map(),
    orders: [],
    byOrder: new Map(),
    cannot: [],
    counts: {
      pending: 0,
      running: 0,
      waiting: 0,
      retrying: 0,
      completed: 0,
      failed: 0,
      dropped: 0,
    },
    total: 0,
    done: 0,
    failed: 0,
    leftOut: 0,
    retriable: 0,
    spend: emptySpend(),
    questions: new Map(),
    pending: 0,
    finishes: [],
    log: [],
    firstProblem: null,
    idle: [],
    running: 0,
    idleSince: null,
    documentWanted: 0,
  };
}

export type Handler<E extends Event> = (
  model: Model,
  event: E & { seq: number },
  at: number,
) => void;

/** What each type of event does to the model. */
export type Handlers = { [T in Event["type"]]?: Handler<Extract<Event, { type: T }>> };

export function close(model: Model, question: OpenQuestion, status: OpenQuestion["status"]): void {
  if (question.status !== "pending") return;
  question.status = status;
  model.pending -= 1;
  model.documentWanted += 1;
}

export function addLane(model: Model, lane: Lane): void {
  model.lanes.push(lane);
  model.byKey.set(lane.key, lane);
  count(model, lane, 1);
  model.statuses += 1;
}

/** Give a lane a status and keep every count in step with it. */
export function setStatus(model: Model, lane: Lane, status: LaneStatus): void {
  if (lane.status !== status) {
    change(model, lane, () => lane.status = status);
    model.statuses += 1;
  }
}

/** Change what the counts depend on: status, who replaced it, why it failed. */
export function change(model: Model, lane: Lane, how: () => void): void {
  count(model, lane, -1);
  how();
  count(model, lane, 1);
}

function count(model: Model, lane: Lane, by: 1 | -1): void {
  if (!lane.subtask) return;
  model.counts[lane.status] += by;
  if (lane.supersededBy !== null) return;
  model.total += by;
  if (lane.status === "completed") model.done += by;
  if (lane.status === "failed") model.failed += by;
  if (lane.status === "dropped") model.leftOut += by;
  if (isRetriable(lane)) model.retriable += by;
}

/** Whether a retry of all that failed does this again: what was given up for another's failure goes with that one. */
function isRetriable(lane: Lane): boolean {
  const over = lane.status === "failed" || lane.status === "dropped";
  return lane.subtask && lane.supersededBy === null && over &&
    lane.failure?.type !== "needs_failed";
}

/** Note that an attempt began to run (+1) or stopped (-1), for the idle stretches of the axis. */
export function busy(model: Model, by: 1 | -1, at: number): void {
  if (by > 0 && model.running === 0) {
    if (model.idleSince !== null && at - model.idleSince >= IDLE_MS) {
      model.idle.push([model.idleSince, at]);
    }
    model.idleSince = null;
  }
  model.running = Math.max(0, model.running + by);
  if (model.running === 0) model.idleSince = at;
}

/** End an attempt that was under way. */
export function endAttempt(
  model: Model,
  attempt: Attempt | undefined,
  at: number,
  outcome: Attempt["outcome"],
): void {
  if (!attempt) return;
  if (attempt.end === null) {
    if (attempt.start !== null) busy(model, -1, at);
    attempt.end = at;
  }
  attempt.outcome = outcome;
}

/** End an assignment that nobody needs any more, with its questions and whatever it had others do. */
export function withdraw(model: Model, lane: Lane, at: number, why: string): void {
  const last = lane.attempts.at(-1);
  if (last && last.end === null) endAttempt(model, last, at, "stopped");
  if (isOpen(lane.status)) {
    lane.note = why;
    setStatus(model, lane, "dropped");
  }
  for (const question of model.questions.values()) {
    if (question.status === "pending" && question.approval.attempt.startsWith(`${lane.key}/a`)) {
      close(model, question, "denied");
    }
  }
  for (const child of lane.children) withdraw(model, child, at, why);
}
