// The view of a run that the service sends: its shape, and the merge patches that change it.

export type RunStatus =
  | "queued"
  | "running"
  | "waiting"
  | "paused"
  | "succeeded"
  | "partial"
  | "failed"
  | "cancelled";

export type AssignmentStatus =
  | "pending"
  | "running"
  | "waiting"
  | "retrying"
  | "completed"
  | "failed"
  | "dropped";

export type Outcome = "scheduled" | "running" | "ok" | "failed" | "parked" | "lost" | "stopped";
export type Args = Record<string, unknown>;

export interface Failure {
  message: string;
  type: string;
  class: string;
  next_action?: string;
}

export interface Call {
  id: string;
  kind: "model" | "tool";
  name: string;
  args?: Args;
  effect?: string;
  began_at: string;
  ended_at?: string;
  ok?: boolean;
  failure?: Failure;
  summary?: string;
  tokens?: number;
  returned_seq?: number;
}

export interface OpenCall {
  call_id: string;
  kind: string;
  tool?: string;
  args?: Args;
}

export interface Attempt {
  scheduled_at: string;
  not_before?: string;
  started_at?: string;
  ended_at?: string;
  outcome: Outcome;
  continues?: string;
  feedback?: string;
  host?: string;
  failure?: Failure;
  open_calls?: OpenCall[];
  result_seq?: number;
  /** By the seq of the event that began the call. */
  calls: Record<string, Call>;
}

export interface Assignment {
  name: string;
  label: string;
  role: string;
  order?: string;
  position: number;
  counts: boolean;
  tool?: string;
  args: Args;
  needs: string[];
  parent?: string;
  repairs?: string;
  superseded_by?: string;
  status: AssignmentStatus;
  note: string;
  failure?: Failure;
  verdict?: { verdict: "accept" | "retry" | "replan" | "drop"; reason: string };
  by?: string;
  tries: number;
  seq: number;
  settled_seq?: number;
  /** By number, from 1. */
  attempts: Record<string, Attempt>;
}

export interface Order {
  goal: string;
  seq: number;
  at: string;
  repairs?: string;
  by?: string;
  total: number;
  completed: number;
  failed: number;
  dropped: number;
  review?: {
    seq: number;
    at: string;
    complete: boolean;
    accepted: number;
    retry: number;
    dropped: number;
    missing: { name: string; tool?: string }[];
  };
}

export interface Approval {
  kind: "call" | "effect";
  assignment: string;
  attempt: string;
  tool: string;
  args: Args;
  seq: number;
  status: "pending" | "approved" | "denied" | "expired" | "withdrawn";
}

export interface View {
  run_id: string;
  last_seq: number;
  last_at?: string;
  run: {
    request: string;
    flow: string;
    model: string;
    status: RunStatus;
    reason: string;
    created_at: string;
    finished_at?: string;
    owner?: string;
    cancelled_by?: string;
    phase?: { assignment: string; role: string; text: string; since: string };
    /** By number, from 1. */
    answers: Record<string, { status: RunStatus; seq: number; at: string }>;
    unsupported: { what: string; reason: string }[];
    first_problem?: number;
    idle_since?: string;
    /** Stretches in which no attempt ran, by the seq of the event that ended them. */
    idle: Record<string, [from: string, to: string]>;
  };
  spend: {
    requests: number;
    tokens: number;
    input_tokens: number;
    output_tokens: number;
    nanousd: number;
    reserved_nanousd: number;
    unpriced: boolean;
    budget_nanousd?: number;
  };
  counts: Record<AssignmentStatus, number> & {
    current: {
      total: number;
      completed: number;
      failed: number;
      dropped: number;
      retriable: number;
    };
    approvals: number;
    attempts_running: number;
  };
  orders: Record<string, Order>;
  assignments: Record<string, Assignment>;
  approvals: Record<string, Approval>;
}

/** What an event says to people. */
export interface Words {
  readonly title: string;
  readonly text: string;
  readonly subject: string;
  readonly tone: "info" | "good" | "attention" | "problem";
  readonly level: "phase" | "step" | "detail";
  readonly topics: readonly string[];
}

/** One event of the run: its words, and what it changes in the view. */
export interface Change {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly words: Words;
  readonly patch: Patch;
}

export type Patch = { readonly [key: string]: unknown };

/** Apply a JSON merge patch (RFC 7396) to an object, in place. */
export function merge(target: Record<string, unknown>, patch: Patch): void {
  for (const [key, value] of Object.entries(patch)) {
    if (key === "__proto__") continue; // a name that a model wrote must not change what the object is
    if (value === null) delete target[key];
    else if (isObject(value)) {
      if (!isObject(target[key])) target[key] = {};
      merge(target[key] as Record<string, unknown>, value);
    } else target[key] = value;
  }
}

function isObject(value: unknown): value is Patch {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const OVER = new Set<string>(["succeeded", "partial", "failed", "cancelled"]);

export function isOver(status: string): boolean {
  return OVER.has(status);
}

/** Return whether an assignment is still to be done. */
export function isOpen(status: AssignmentStatus): boolean {
  return status === "pending" || status === "running" || status === "waiting" ||
    status === "retrying";
}

/** Return a moment as milliseconds; null where there is none. */
export function millis(moment: string | undefined): number | null {
  return moment === undefined ? null : Date.parse(moment);
}
