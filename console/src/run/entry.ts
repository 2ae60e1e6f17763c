// The entries of a run's log, as far as this screen reads them. The whole list is docs/reference/events.md.

export interface Failure {
  message: string;
  type: string;
  class: string;
  next_action?: string;
}

export interface Amount {
  requests: number;
  tokens: number;
  nanousd: number;
}

export interface Usage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  nanousd: number | null;
}

export type Args = Record<string, unknown>;

export interface Subtask {
  name: string;
  args: Args;
  tool: string | null;
  needs?: string[];
  expected_output?: string | null;
  repairs_subtask?: string | null;
}

export interface WorkOrder {
  work_order_id: string;
  goal: string;
  subtasks: Subtask[];
  repairs?: string | null;
}

export interface Verdict {
  subtask: string;
  verdict: "accept" | "retry" | "replan" | "drop";
  reason?: string;
}

export interface Review {
  verdicts: Verdict[];
  complete: boolean;
  missing?: { name: string; tool?: string | null; args?: Args }[];
  cannot?: { what: string; reason: string }[];
}

export interface OpenCall {
  call_id: string;
  kind: string;
  tool?: string;
  args?: Args;
}

export interface Approval {
  approval_id: string;
  kind: "call" | "effect";
  attempt: string;
  tool: string;
  args: Args;
  asked_for?: string;
  expires_at?: string | null;
}

export interface Assignment {
  assignment_id: string;
  role: string;
  covers?: string[];
  parent?: string | null;
  options?: Record<string, unknown>;
}

interface Definition {
  request: string;
  flow: string;
  models: { default: string; roles?: Record<string, string> };
  limits: {
    budget_nanousd?: number | null;
    max_tokens?: number | null;
    max_requests?: number | null;
  };
}

export type RunStatus =
  | "queued"
  | "running"
  | "waiting"
  | "paused"
  | "succeeded"
  | "partial"
  | "failed"
  | "cancelled";

interface ResultData {
  summary: string;
}

export type Event =
  | { type: "run_started"; definition: Definition }
  | { type: "run_claimed"; owner: string }
  | { type: "run_paused"; reason?: string }
  | { type: "run_waiting"; reason?: string }
  | { type: "run_resumed" }
  | { type: "run_reopened"; by: string }
  | {
    type: "run_finished";
    number?: number;
    status: RunStatus;
    answer: string;
    sources?: unknown[];
    gaps?: unknown[];
    failure?: Failure | null;
  }
  | { type: "work_order_issued"; order: WorkOrder; by?: string }
  | { type: "order_reviewed"; work_order_id: string; review: Review }
  | { type: "parts_refused"; parts: { what: string; reason: string }[] }
  | { type: "assignment_issued"; assignment: Assignment }
  | {
    type: "attempt_scheduled";
    attempt: string;
    continues?: string | null;
    not_before?: string | null;
    feedback?: string;
  }
  | { type: "attempt_started"; attempt: string; host: string }
  | {
    type: "attempt_returned";
    attempt: string;
    result: { task_name: string; ok: boolean; data?: ResultData | null; error?: Failure | null };
  }
  | {
    type: "attempt_settled";
    attempt: string;
    ok: boolean;
    final: boolean;
    failure?: Failure | null;
  }
  | { type: "attempt_parked"; attempt: string; open_calls: OpenCall[] }
  | { type: "attempt_held"; attempt: string; open_calls: OpenCall[] }
  | { type: "attempt_lost"; attempt: string; failure: Failure }
  | { type: "model_call_began"; attempt: string; call_id: string; model: string; reserved?: Amount }
  | {
    type: "model_call_returned";
    attempt: string;
    call_id: string;
    model: string;
    usage?: Usage | null;
    failure?: Failure | null;
    duration_ms?: number;
  }
  | {
    type: "tool_call_began";
    attempt: string;
    call_id: string;
    tool: string;
    args: Args;
    effect?: string;
  }
  | {
    type: "tool_call_returned";
    attempt: string;
    call_id: string;
    tool: string;
    ok: boolean;
    summary?: string | null;
    failure?: Failure | null;
  }
  | { type: "conversation_compacted"; attempt: string; through: number; keep: number }
  | { type: "subtask_blocked"; subtask: string; cause: string }
  | {
    type: "subtask_resolved";
    subtask: string;
    data?: ResultData | null;
    by: string;
    reason?: string;
  }
  | { type: "approval_requested"; approval: Approval }
  | { type: "approval_expired"; approval_id: string }
  | {
    type: "approval_answered";
    by?: string;
    approval_id: string;
    approve: boolean;
    reason?: string;
    always?: boolean;
  }
  | {
    type: "effect_answered";
    by?: string;
    approval_id: string;
    happened: boolean;
    summary?: string;
  }
  | { type: "child_answered"; by?: string; call_id: string; ok: boolean; content: string }
  | { type: "retry_granted"; subtasks: string[]; data?: ResultData | null; by: string }
  | { type: "retry_requested"; by?: string; subtasks?: string[]; args?: Args | null }
  | { type: "cancel_requested"; by?: string }
  | { type: "resume_requested"; by?: string }
  | { type: "pause_requested"; by?: string; reason?: string }
  | { type: "skip_requested"; by?: string; subtask: string; reason?: string }
  | { type: "result_supplied"; by?: string; subtask: string; summary: string }
  | { type: "request_declined"; request: string; reason: string };

/** One line of the log. A type that this release does not know is kept and shown by its name. */
export type Entry = { seq: number; at: string; epoch?: number } & Event;

/** Whether an attempt ended since its run was paused or forked: no failure, it is done again. */
export function isInterruption(failure: Failure | null | undefined): boolean {
  return failure?.type === "interrupted";
}

/** The assignment an attempt is of: `wo-001.0/a2` is the second attempt at `wo-001.0`. */
export function assignmentOf(attempt: string): string {
  const at = attempt.lastIndexOf("/a");
  return at < 0 ? attempt : attempt.slice(0, at);
}

/** The number of an attempt at its assignment, from 1. */
export function numberOf(attempt: string): number {
  return Number(attempt.slice(attempt.lastIndexOf("/a") + 2)) || 1;
}
