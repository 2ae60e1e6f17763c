// The shapes that the service sends: run documents, lines of lists, cards, tools, the log's entries.

import type { Told } from "./run/event_pages.ts";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Status =
  | "queued"
  | "running"
  | "waiting"
  | "paused"
  | "succeeded"
  | "partial"
  | "failed"
  | "cancelled";

export const STATUSES: readonly Status[] = [
  "queued",
  "running",
  "waiting",
  "paused",
  "succeeded",
  "partial",
  "failed",
  "cancelled",
];

export type Scope = "read" | "run" | "approve" | "admin";

export interface Session {
  readonly authenticated: boolean;
  readonly needed: boolean;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly version: string;
}

/** One run in a list. */
export interface RunLine {
  readonly run_id: string;
  readonly flow: string;
  readonly request: string;
  readonly status: Status;
  readonly model: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly last_seq: number;
  readonly owner: string | null;
  readonly orphan: boolean;
  readonly detached: boolean;
  readonly subtasks: number;
  readonly completed: number;
  readonly failed: number;
  readonly asking: number;
  readonly requests: number;
  readonly tokens: number;
  readonly cost_usd: number | null;
}

export interface RunPage {
  readonly runs: readonly RunLine[];
  readonly next_cursor: string | null;
}

export interface Source {
  readonly title: string;
  readonly url: string;
  readonly event_id: string;
}

export interface Gap {
  readonly work_order_id: string | null;
  readonly subtask_index: number | null;
  readonly name: string;
  readonly class: string;
  readonly reason: string;
  readonly next_action: string;
}

export interface Subtask {
  readonly name: string;
  readonly args: JsonObject;
  readonly tool: string;
  readonly needs?: readonly string[];
  readonly expected_output?: string;
  readonly repairs_subtask?: string;
  readonly worker?: string;
  readonly checks?: readonly Json[];
}

export interface WorkOrder {
  readonly work_order_id: string;
  readonly goal: string;
  readonly repairs?: string;
  readonly subtasks: readonly Subtask[];
}

export type SubtaskStatus = "pending" | "running" | "waiting" | "completed" | "failed" | "dropped";

export interface WorkState {
  readonly work_order_id: string;
  readonly created_at: string;
  readonly subtask_state: {
    readonly [index: string]: {
      readonly name: string;
      readonly status: SubtaskStatus;
      readonly event_ids: readonly string[];
    };
  };
  readonly completed: boolean;
}

/** One piece of evidence: a settled attempt's result. */
export interface EvidenceEvent {
  readonly event_id: string;
  readonly timestamp: string;
  readonly task_name: string;
  readonly result: "success" | "failure";
  readonly agent: string;
  readonly content: JsonObject;
  readonly refs: { readonly work_order_id: string; readonly subtask_index: number };
  readonly attempt?: string;
}

export interface Usage {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number | null;
}

/** A run as a whole: what `leadhand run --json` prints. */
export interface RunDocument {
  readonly run_id: string;
  readonly flow: string;
  readonly request: string;
  readonly status: Status;
  readonly owner: string | null;
  readonly answer: string | null;
  readonly sources: readonly Source[];
  readonly gaps: readonly Gap[];
  readonly earlier_answers: readonly Json[];
  readonly failure: JsonObject | null;
  readonly work_orders: readonly WorkOrder[];
  readonly work_states: readonly WorkState[];
  readonly work_state: WorkState | null;
  readonly context_store: { readonly events: readonly EvidenceEvent[] };
  readonly artifacts: readonly Json[];
  readonly approvals: readonly JsonObject[];
  readonly usage: Usage;
  readonly limits: JsonObject;
  readonly model: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly last_seq: number;
}

/** One entry of a run's log: what every entry has, and the fields of its own event. */
export interface Entry {
  readonly seq: number;
  readonly at: string;
  readonly epoch: number;
  readonly type: string;
  // deno-lint-ignore no-explicit-any -- each type of event has fields of its own: whoever reads one knows them
  readonly [field: string]: any;
}

export interface EventPage {
  readonly events: readonly (Entry & Told)[];
  readonly next_after: number | null;
  readonly last_seq: number;
}

/** Live text of an attempt: `text` stands at `offset` of what is written so far; "" at 0 begins anew. */
export interface Delta {
  readonly attempt: string;
  readonly offset: number;
  readonly text: string;
}

export interface StreamEnd {
  readonly status: Status;
  readonly last_seq: number;
}

export type Effect = "pure" | "idempotent" | "once";

/** A question to a person: may a call be made ("call"), or did one happen ("effect")? */
export interface Card {
  readonly id: string;
  readonly run_id: string;
  readonly call_id: string;
  readonly request: string;
  readonly kind: "call" | "effect";
  readonly tool: string;
  readonly args: JsonObject;
  readonly effect: Effect;
  readonly asked_for: string;
  readonly origins: { readonly [argument: string]: string };
  readonly cost_usd: number | null;
  readonly asked_at: string | null;
  readonly expires_at: string | null;
  readonly driven: boolean;
}

export type Answer =
  | { decision: "approve"; args?: JsonObject; always?: boolean }
  | { decision: "deny"; reason?: string; always?: boolean }
  | { decision: "settle"; happened: boolean; summary?: string; raw?: Json };

/** The part of JSON Schema that tools' parameters are written in. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: Json;
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly examples?: readonly Json[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: { readonly [name: string]: Schema };
  readonly additionalProperties?: boolean | Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface ToolError {
  readonly at: string;
  readonly run_id: string | null;
  readonly message: string;
  readonly type: string;
  readonly class: string | null;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema;
  readonly effect: Effect;
  readonly timeout_s: number | null;
  readonly retries: number;
  readonly approval: "ask" | "auto" | "never" | null;
  readonly toolset: string;
  readonly import_path: string;
  readonly last_error: ToolError | null;
}

export type WorkResult =
  | {
    readonly task_name: string;
    readonly ok: true;
    readonly data: {
      readonly summary: string;
      readonly raw?: Json;
      readonly sources?: readonly { title: string; url: string }[];
      readonly sample?: boolean;
    };
  }
  | {
    readonly task_name: string;
    readonly ok: false;
    readonly error: {
      readonly message: string;
      readonly type: string;
      readonly class: string;
      readonly next_action?: string;
    };
  };

export interface Agent {
  readonly name: string;
  readonly role: string;
  readonly model: string;
  readonly instructions: string;
  /** What holds where nothing is set. */
  readonly ships: { readonly model: string; readonly instructions: string };
  /** Who set it otherwise than it ships, and when. */
  readonly changed: { readonly by: string; readonly at: string } | null;
}

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly what: string;
  readonly how: string;
}

export interface SystemDocument {
  readonly version: string;
  readonly python: string;
  readonly platform: string;
  readonly started_at: string;
  readonly database: {
    readonly name: string;
    readonly kind: "sqlite" | "postgresql";
    readonly schema: number;
    readonly bytes: number | null;
    readonly runs: { readonly [status: string]: number };
  };
  readonly model: { readonly name: string; readonly why: string };
  readonly hosts: readonly {
    readonly host: string;
    readonly here: boolean;
    readonly runs: readonly string[];
  }[];
  readonly streams: number;
  readonly driving: number;
  readonly console: boolean;
  readonly checks: readonly Check[];
}

/** What starts a run. */
export interface NewRun {
  request: string;
  flow?: string;
  model?: string;
  offline?: boolean;
  approve?: "ask" | "auto" | "never";
  limits?: {
    max_steps?: number;
    max_workers?: number;
    batch_size?: number;
    budget?: number | null;
    timeout?: number | null;
    max_requests?: number;
    max_tokens?: number;
    max_output_tokens?: number;
    approval_timeout?: number;
  };
  options?: JsonObject;
}
