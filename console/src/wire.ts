// Generated from the OpenAPI document by scripts/console-types. Do not edit.
// deno-lint-ignore-file

import type { Schema } from "./json.ts";

export interface paths {
  readonly "/api/approvals": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly run_id?: string | null;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ApprovalsList"];
          };
        };
      };
    };
  };
  readonly "/api/approvals/{approval_id}": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly approval_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["AnswerBody"];
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ApprovalCard"];
          };
        };
      };
    };
  };
  readonly "/api/events/stream": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly after?: string | null;
          readonly brief?: boolean;
          readonly subtask?: string;
          readonly type?: readonly (
            | "run_started"
            | "run_claimed"
            | "run_status_set"
            | "run_finished"
            | "run_requested"
            | "run_changed"
            | "order_issued"
            | "results_judged"
            | "step_issued"
            | "step_settled"
            | "step_requested"
            | "request_decided"
            | "attempt_scheduled"
            | "attempt_started"
            | "attempt_returned"
            | "attempt_parked"
            | "model_call_began"
            | "model_call_returned"
            | "element_written"
            | "conversation_compacted"
            | "tool_call_began"
            | "tool_call_returned"
            | "call_answered"
            | "worker_defined"
            | "artifact_written"
            | "todos_set"
            | "note_emitted"
            | "approval_requested"
            | "approval_answered"
            | "question_asked"
            | "question_answered"
            | "signal_sent"
          )[];
        };
      };
      readonly responses: {
        readonly 200: {};
      };
    };
  };
  readonly "/api/flows": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["FlowsList"];
          };
        };
      };
    };
  };
  readonly "/api/keys": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["KeysList"];
          };
        };
      };
    };
    readonly post: {
      readonly parameters: {};
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["NewKey"];
        };
      };
      readonly responses: {
        readonly 201: {
          content: {
            readonly "application/json": components["schemas"]["CreatedKey"];
          };
        };
      };
    };
  };
  readonly "/api/keys/{key_id}": {
    readonly parameters: {};
    readonly delete: {
      readonly parameters: {
        readonly path: {
          readonly key_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["KeyDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly ascending?: boolean;
          readonly asking?: boolean;
          readonly cursor?: string | null;
          readonly flow?: string | null;
          readonly limit?: number;
          readonly max_cost_usd?: number | null;
          readonly max_duration_s?: number | null;
          readonly min_cost_usd?: number | null;
          readonly min_duration_s?: number | null;
          readonly q?: string;
          readonly search?: string;
          readonly since?: string | null;
          readonly sort?: components["schemas"]["RunSort"];
          readonly status?: components["schemas"]["RunStatus"] | null;
          readonly tag?: readonly string[];
          readonly until?: string | null;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["RunsPage"];
          };
        };
      };
    };
    readonly post: {
      readonly parameters: {
        readonly query?: {
          readonly include?: readonly (
            | "work_orders"
            | "work_states"
            | "work_state"
            | "context_store"
            | "task"
            | "todos"
            | "artifacts"
            | "steps"
            | "claims"
          )[];
          readonly wait?: number;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["Submission"];
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly include?: readonly (
            | "work_orders"
            | "work_states"
            | "work_state"
            | "context_store"
            | "task"
            | "todos"
            | "artifacts"
            | "steps"
            | "claims"
          )[];
          readonly wait?: number;
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
    readonly delete: {
      readonly parameters: {
        readonly query?: {
          readonly confirmed?: boolean;
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 204: {};
      };
    };
  };
  readonly "/api/runs/{run_id}/answer": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly wait?: number;
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["RunAnswer"];
          };
        };
      };
    };
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["ReplyBody"];
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/artifacts": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": readonly components["schemas"]["ArtifactLine"][];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/artifacts/{path}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly version?: number | null;
        };
        readonly path: {
          readonly path: string;
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": unknown;
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/calls/{call_id}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly call_id: string;
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ModelCallDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/cancel": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["Nothing"] | null;
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/events": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly after?: number;
          readonly brief?: boolean;
          readonly limit?: number;
          readonly subtask?: string;
          readonly type?: readonly (
            | "run_started"
            | "run_claimed"
            | "run_status_set"
            | "run_finished"
            | "run_requested"
            | "run_changed"
            | "order_issued"
            | "results_judged"
            | "step_issued"
            | "step_settled"
            | "step_requested"
            | "request_decided"
            | "attempt_scheduled"
            | "attempt_started"
            | "attempt_returned"
            | "attempt_parked"
            | "model_call_began"
            | "model_call_returned"
            | "element_written"
            | "conversation_compacted"
            | "tool_call_began"
            | "tool_call_returned"
            | "call_answered"
            | "worker_defined"
            | "artifact_written"
            | "todos_set"
            | "note_emitted"
            | "approval_requested"
            | "approval_answered"
            | "question_asked"
            | "question_answered"
            | "signal_sent"
          )[];
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["EventsPage"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/events/{seq}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
          readonly seq: number;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["EventDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/events/{seq}/payloads/{digest}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly digest: string;
          readonly run_id: string;
          readonly seq: number;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": unknown;
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/events/stream": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly after?: number;
          readonly subtask?: string;
          readonly type?: readonly (
            | "run_started"
            | "run_claimed"
            | "run_status_set"
            | "run_finished"
            | "run_requested"
            | "run_changed"
            | "order_issued"
            | "results_judged"
            | "step_issued"
            | "step_settled"
            | "step_requested"
            | "request_decided"
            | "attempt_scheduled"
            | "attempt_started"
            | "attempt_returned"
            | "attempt_parked"
            | "model_call_began"
            | "model_call_returned"
            | "element_written"
            | "conversation_compacted"
            | "tool_call_began"
            | "tool_call_returned"
            | "call_answered"
            | "worker_defined"
            | "artifact_written"
            | "todos_set"
            | "note_emitted"
            | "approval_requested"
            | "approval_answered"
            | "question_asked"
            | "question_answered"
            | "signal_sent"
          )[];
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {};
        readonly 204: {};
      };
    };
  };
  readonly "/api/runs/{run_id}/export": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly format?: "jsonl" | "json" | "md" | "html";
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": unknown;
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/follow-up": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["FollowUp"];
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/fork": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["ForkBody"];
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/pause": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["PauseBody"] | null;
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/resume": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["ResumeBody"] | null;
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/retry": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["RetryBody"] | null;
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/signals/{name}": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly name: string;
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["SignalBody"] | null;
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/skip": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["SkipBody"];
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/supply": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["SupplyBody"];
        };
      };
      readonly responses: {
        readonly 202: {
          content: {
            readonly "application/json": components["schemas"]["RunDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/view": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ViewDocument"];
          };
        };
      };
    };
  };
  readonly "/api/runs/{run_id}/view/stream": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly after?: number;
        };
        readonly path: {
          readonly run_id: string;
        };
      };
      readonly responses: {
        readonly 200: {};
        readonly 204: {};
      };
    };
  };
  readonly "/api/session": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["SessionDocument"];
          };
        };
      };
    };
    readonly post: {
      readonly parameters: {};
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["KeyBody"];
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["SessionDocument"];
          };
        };
      };
    };
    readonly delete: {
      readonly parameters: {};
      readonly responses: {
        readonly 204: {};
      };
    };
  };
  readonly "/api/tools": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ToolsList"];
          };
        };
      };
    };
  };
  readonly "/api/tools/{name}": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly path: {
          readonly name: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ToolSpec"];
          };
        };
      };
    };
  };
  readonly "/api/tools/{name}/call": {
    readonly parameters: {};
    readonly post: {
      readonly parameters: {
        readonly path: {
          readonly name: string;
        };
      };
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["CallBody"];
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["ToolTrial"];
          };
        };
      };
    };
  };
  readonly "/api/webhooks": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["WebhooksList"];
          };
        };
      };
    };
    readonly post: {
      readonly parameters: {};
      readonly requestBody: {
        readonly content: {
          readonly "application/json": components["schemas"]["NewWebhook"];
        };
      };
      readonly responses: {
        readonly 201: {
          content: {
            readonly "application/json": components["schemas"]["CreatedWebhook"];
          };
        };
      };
    };
  };
  readonly "/api/webhooks/{webhook_id}": {
    readonly parameters: {};
    readonly delete: {
      readonly parameters: {
        readonly path: {
          readonly webhook_id: string;
        };
      };
      readonly responses: {
        readonly 204: {};
      };
    };
  };
  readonly "/api/webhooks/{webhook_id}/deliveries": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {
        readonly query?: {
          readonly limit?: number;
        };
        readonly path: {
          readonly webhook_id: string;
        };
      };
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["DeliveriesList"];
          };
        };
      };
    };
  };
  readonly "/api/workers": {
    readonly parameters: {};
    readonly get: {
      readonly parameters: {};
      readonly responses: {
        readonly 200: {
          content: {
            readonly "application/json": components["schemas"]["WorkersList"];
          };
        };
      };
    };
  };
}
export interface components {
  schemas: {
    readonly Action: {
      readonly action: string;
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly primary: boolean;
    };
    readonly AnswerBody: {
      readonly always?: boolean;
      readonly args?: {
        readonly [key: string]: unknown;
      } | null;
      /** @enum {string} */
      readonly decision: "approve" | "deny" | "settle";
      readonly happened?: boolean | null;
      readonly raw?: unknown;
      readonly reason?: string;
      readonly summary?: string;
    };
    readonly AnswerPart: {
      readonly at: string;
      readonly seq: number;
    };
    readonly Approval: {
      readonly approval_id: string;
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly asked_at: string | null;
      readonly asked_for: string;
      readonly attempt: string;
      readonly by: string;
      readonly by_hand: boolean;
      readonly called?: string;
      readonly edited?: boolean;
      readonly effect: components["schemas"]["Effect"];
      readonly expires_at: string | null;
      readonly hook?: string;
      readonly hook_reason?: string;
      /** @enum {string} */
      readonly kind: "call" | "effect" | "plan";
      readonly origins: readonly (readonly [
        string,
        string,
      ])[];
      readonly reason: string;
      readonly status: components["schemas"]["ApprovalStatus"];
      readonly summary?: string;
      readonly target?: string;
      readonly tool: string;
    };
    readonly ApprovalAnswered: {
      readonly always?: boolean;
      readonly approval_id: string;
      readonly approve: boolean;
      readonly args?: {
        readonly [key: string]: unknown;
      } | null;
      readonly args_hash: string;
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly expired?: boolean;
      readonly raw?: unknown;
      readonly reason: string;
      readonly seq: number;
      /** @constant */
      readonly type: "approval_answered";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ApprovalCard: {
      readonly approval_id: string;
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly asked_at: string | null;
      readonly asked_for: string;
      readonly attempt: string;
      readonly by: string;
      readonly by_hand: boolean;
      readonly call_id: string;
      readonly called?: string;
      readonly edited?: boolean;
      readonly effect: components["schemas"]["Effect"];
      readonly expires_at: string | null;
      readonly hook?: string;
      readonly hook_reason?: string;
      /** @enum {string} */
      readonly kind: "call" | "effect" | "plan";
      readonly name: string;
      readonly origins: {
        readonly [key: string]: string;
      };
      readonly reason: string;
      readonly request: string;
      readonly run_id: string;
      readonly status: components["schemas"]["ApprovalStatus"];
      readonly summary?: string;
      readonly target?: string;
      readonly tool: string;
    };
    /** @enum {string} */
    readonly ApprovalPolicy: "ask" | "auto" | "never";
    readonly ApprovalRequested: {
      readonly approval: components["schemas"]["Approval"];
      readonly at: string;
      readonly epoch: number;
      readonly seq: number;
      /** @constant */
      readonly type: "approval_requested";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ApprovalsList: {
      readonly approvals: readonly components["schemas"]["ApprovalCard"][];
    };
    /** @enum {string} */
    readonly ApprovalStatus: "pending" | "approved" | "denied" | "expired" | "consumed";
    readonly ArtifactLine: {
      readonly at: string;
      readonly by: string;
      readonly bytes: number;
      readonly digest: string;
      readonly path: string;
      readonly version: number;
    };
    readonly ArtifactPart: {
      readonly at: string;
      readonly by: string;
      readonly bytes: number;
      readonly seq: number;
      readonly version: number;
    };
    readonly ArtifactWritten: {
      readonly at: string;
      readonly attempt: string;
      readonly digest: string;
      readonly epoch: number;
      readonly path: string;
      readonly seq: number;
      readonly size: number;
      /** @constant */
      readonly type: "artifact_written";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly AskPerson: {
      readonly choices: readonly string[];
      readonly default: string;
      readonly state: unknown;
      readonly text: string;
      /** @constant */
      readonly type: "ask_person";
    };
    readonly AssistantMessage: {
      readonly opaque: components["schemas"]["Opaque"] | null;
      /** @constant */
      readonly role: "assistant";
      readonly text: string;
      readonly tool_calls: readonly components["schemas"]["ToolCall"][];
    };
    readonly AttemptParked: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly open_calls: readonly components["schemas"]["OpenCall"][];
      readonly seq: number;
      /** @constant */
      readonly type: "attempt_parked";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly AttemptPart: {
      readonly calls: {
        readonly [key: string]: components["schemas"]["CallPart"];
      };
      readonly continues?: string;
      readonly ended_at?: string;
      readonly failure?: components["schemas"]["FailurePart"];
      readonly feedback?: string;
      readonly host?: string;
      readonly not_before?: string;
      /** @enum {string} */
      readonly outcome: "scheduled" | "running" | "ok" | "failed" | "parked" | "lost" | "stopped";
      readonly result_seq?: number;
      readonly scheduled_at: string;
      readonly started_at?: string;
    };
    readonly AttemptReturned: {
      readonly at: string;
      readonly attempt: string;
      readonly data?: components["schemas"]["ResultData"] | null;
      readonly epoch: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly lost?: boolean;
      readonly seq: number;
      /** @constant */
      readonly type: "attempt_returned";
      readonly used: readonly string[];
      readonly value?: unknown;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly AttemptScheduled: {
      readonly at: string;
      readonly attempt: string;
      readonly continues: string | null;
      readonly epoch: number;
      readonly feedback: string;
      readonly not_before: string | null;
      readonly seq: number;
      /** @constant */
      readonly type: "attempt_scheduled";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly AttemptStarted: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly host: string;
      readonly seq: number;
      /** @constant */
      readonly type: "attempt_started";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly Blob: {
      readonly $blob: string;
      readonly bytes: number;
    };
    readonly CachedFrom: {
      readonly at: string;
      readonly call_id: string;
      readonly run_id: string;
    };
    readonly CallAnswered: {
      readonly at: string;
      readonly call_id: string;
      readonly content: string;
      readonly epoch: number;
      readonly ok: boolean;
      readonly seq: number;
      /** @constant */
      readonly type: "call_answered";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly CallBody: {
      readonly args?: {
        readonly [key: string]: unknown;
      };
      readonly confirmed?: boolean;
      readonly offline?: boolean;
    };
    readonly CallPart: {
      readonly args?: {
        readonly [key: string]: unknown;
      };
      readonly began_at: string;
      readonly cached?: boolean;
      readonly cached_tokens?: number;
      readonly effect?: string;
      readonly ended_at?: string;
      readonly failure?: components["schemas"]["FailurePart"];
      readonly id: string;
      /** @enum {string} */
      readonly kind: "model" | "tool";
      readonly name: string;
      readonly nanousd?: number;
      readonly ok?: boolean;
      readonly output_tokens?: number;
      readonly returned_seq?: number;
      readonly summary?: string;
      readonly tokens?: number;
    };
    readonly CallReply: {
      readonly text: string;
      readonly tool_calls: readonly components["schemas"]["ToolCall"][];
      readonly value: unknown;
    };
    readonly CallSettings: {
      readonly max_output_tokens: number | null;
      readonly reasoning_effort: ("minimal" | "low" | "medium" | "high") | null;
      readonly temperature: number | null;
    };
    readonly Ceiling: {
      readonly nanousd: number | null;
      readonly requests: number | null;
      readonly scope: string;
      readonly tokens: number | null;
    };
    readonly CitedPassage: {
      readonly id: string;
      readonly link: string;
      readonly name: string;
      readonly published: string;
      readonly source: string;
      readonly text: string;
      readonly title: string;
      readonly url: string;
    };
    readonly CitedSource: {
      readonly event_id: string;
      readonly title: string;
      readonly url: string;
    };
    readonly Claim: {
      readonly cites?: readonly string[];
      readonly end?: number | null;
      readonly header?: string;
      readonly n: number;
      readonly path?: string;
      readonly start?: number | null;
      readonly text: string;
      readonly verdict: components["schemas"]["ClaimVerdict"];
    };
    /** @enum {string} */
    readonly ClaimVerdict:
      | "confirmed"
      | "derived"
      | "own_words"
      | "unconfirmed"
      | "contradicted"
      | "not_checked";
    readonly Concurrency: {
      readonly models: {
        readonly [key: string]: number;
      };
      readonly steps: readonly components["schemas"]["SharedLimit"][];
    };
    readonly ContextEvent: {
      readonly agent: string;
      readonly attempt?: string | null;
      readonly by?: string | null;
      readonly content: {
        readonly [key: string]: unknown;
      };
      readonly event_id: string;
      readonly refs: components["schemas"]["EventRefs"];
      /** @enum {string} */
      readonly result: "success" | "failure";
      readonly task_name: string;
      readonly timestamp: string;
    };
    readonly ContextStore: {
      readonly events: readonly components["schemas"]["ContextEvent"][];
    };
    readonly ConversationCompacted: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly keep: number;
      readonly left_out?: number;
      readonly seq: number;
      readonly through: number;
      /** @constant */
      readonly type: "conversation_compacted";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly CreatedKey: {
      readonly ceilings: components["schemas"]["KeyCeilings"];
      readonly created_at: string;
      readonly key: string;
      readonly key_id: string;
      readonly last_used_at: string | null;
      readonly name: string;
      readonly prefix: string;
      readonly revoked_at: string | null;
      readonly scopes: readonly components["schemas"]["Scope"][];
    };
    readonly CreatedWebhook: {
      readonly by: string;
      readonly created_at: string;
      readonly events: readonly ("run.finished" | "run.asks" | "run.failed")[];
      readonly every: boolean;
      readonly secret: string;
      readonly url: string;
      readonly webhook_id: string;
    };
    readonly DefineWorker: {
      readonly description: string;
      readonly instructions: string;
      readonly model: string | null;
      readonly name: string;
      readonly tools: readonly string[] | null;
      /** @constant */
      readonly type: "define_worker";
    };
    readonly Delegate: {
      readonly input: {
        readonly [key: string]: unknown;
      };
      readonly instructions: string | null;
      readonly key?: string;
      readonly max_calls?: number | null;
      readonly model: string | null;
      readonly output?: {
        readonly [key: string]: unknown;
      } | null;
      readonly title: string;
      readonly tools: readonly string[] | null;
      /** @constant */
      readonly type: "delegate";
      readonly worker: string | null;
    };
    readonly DeliveriesList: {
      readonly deliveries: readonly components["schemas"]["DeliveryDocument"][];
    };
    readonly DeliveryDocument: {
      readonly attempts: number;
      readonly body: string;
      readonly code: number | null;
      readonly created_at: string;
      readonly delivered: boolean;
      readonly delivery_id: string;
      readonly error: string;
      /** @enum {string} */
      readonly event: "run.finished" | "run.asks" | "run.failed";
      readonly next_at: string | null;
      readonly run_id: string;
    };
    readonly DoneCall: {
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly effect: components["schemas"]["Effect"];
      readonly event_id: string | null;
      readonly ok: boolean;
      readonly tool: string;
    };
    readonly Doubt: {
      readonly claim: string;
      readonly evidence: string | null;
      readonly n: number;
      readonly part: string;
      readonly path?: string;
      readonly quote: string | null;
      readonly verdict: components["schemas"]["ClaimVerdict"];
      readonly why: string;
    };
    readonly EarlierAnswer: {
      readonly answer: string | null;
      readonly number: number;
      readonly status: components["schemas"]["RunStatus"];
    };
    readonly EarlierMessage: {
      readonly content: string;
      /** @enum {string} */
      readonly role: "user" | "assistant";
    };
    /** @enum {string} */
    readonly Effect: "pure" | "idempotent" | "once";
    readonly ElementWritten: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly index: number;
      readonly seq: number;
      /** @constant */
      readonly type: "element_written";
      readonly value: unknown;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly EventDocument:
      | components["schemas"]["RunStarted"]
      | components["schemas"]["RunClaimed"]
      | components["schemas"]["RunStatusSet"]
      | components["schemas"]["RunFinished"]
      | components["schemas"]["RunRequested"]
      | components["schemas"]["RunChanged"]
      | components["schemas"]["OrderIssued"]
      | components["schemas"]["ResultsJudged"]
      | components["schemas"]["StepIssued"]
      | components["schemas"]["StepSettled"]
      | components["schemas"]["StepRequested"]
      | components["schemas"]["RequestDecided"]
      | components["schemas"]["AttemptScheduled"]
      | components["schemas"]["AttemptStarted"]
      | components["schemas"]["AttemptReturned"]
      | components["schemas"]["AttemptParked"]
      | components["schemas"]["ModelCallBegan"]
      | components["schemas"]["ModelCallReturned"]
      | components["schemas"]["ElementWritten"]
      | components["schemas"]["ConversationCompacted"]
      | components["schemas"]["ToolCallBegan"]
      | components["schemas"]["ToolCallReturned"]
      | components["schemas"]["CallAnswered"]
      | components["schemas"]["WorkerDefined"]
      | components["schemas"]["ArtifactWritten"]
      | components["schemas"]["TodosSet"]
      | components["schemas"]["NoteEmitted"]
      | components["schemas"]["ApprovalRequested"]
      | components["schemas"]["ApprovalAnswered"]
      | components["schemas"]["QuestionAsked"]
      | components["schemas"]["QuestionAnswered"]
      | components["schemas"]["SignalSent"];
    readonly EventRefs: {
      readonly step?: string | null;
      readonly subtask_index?: number | null;
      readonly work_order_id?: string | null;
    };
    readonly EventsPage: {
      readonly events: readonly components["schemas"]["EventDocument"][];
      readonly last_seq: number;
      readonly next_after: number | null;
    };
    readonly EventWords: {
      /** @enum {string} */
      readonly level: "phase" | "step" | "detail";
      readonly subject: string;
      readonly text: string;
      readonly title: string;
      /** @enum {string} */
      readonly tone: "info" | "good" | "attention" | "problem";
      readonly topics: readonly string[];
    };
    readonly EvidencePart: {
      readonly confirmed: number;
      readonly contradicted: number;
      readonly derived: number;
      readonly doubts: readonly components["schemas"]["Doubt"][];
      readonly judge_rates: {
        readonly [key: string]: number;
      } | null;
      readonly judged_by: string | null;
      readonly not_checked: number;
      readonly not_judged?: string | null;
      readonly own_words: number;
      readonly unconfirmed: number;
    };
    readonly Failure: {
      readonly class: components["schemas"]["FailureClass"];
      readonly message: string;
      readonly next_action: string;
      readonly not_made?: boolean;
      readonly retry_after_s: number | null;
      readonly short_of?: components["schemas"]["Money"] | null;
      readonly type: string;
    };
    /** @enum {string} */
    readonly FailureClass:
      | "transient"
      | "rate_limited"
      | "invalid"
      | "unavailable"
      | "rejected"
      | "blocked"
      | "too_large"
      | "insufficient"
      | "lost"
      | "exhausted";
    readonly FailurePart: {
      readonly class: string;
      readonly message: string;
      readonly next_action?: string;
      readonly type: string;
    };
    readonly FileVersion: {
      readonly at: string;
      readonly by: string;
      readonly digest: string;
      readonly path: string;
      readonly run_id: string;
      readonly size: number;
    };
    readonly Finding: {
      readonly passages: readonly string[];
      readonly statement: string;
    };
    readonly FlowDocument: {
      readonly agents: {
        readonly [key: string]: string;
      };
      readonly description: string;
      readonly name: string;
      readonly options: {
        readonly [key: string]: unknown;
      };
    };
    readonly FlowsList: {
      readonly flows: readonly components["schemas"]["FlowDocument"][];
    };
    readonly FollowedRun: {
      readonly request: string;
      readonly run_id: string;
    };
    readonly Follows: {
      readonly answer: string;
      readonly request: string;
      readonly run_id: string;
      readonly sources: readonly components["schemas"]["Source"][];
    };
    readonly FollowUp: {
      readonly flow?: string | null;
      readonly limits?: components["schemas"]["Limits-Input"];
      readonly model?: string | null;
      readonly name?: string;
      readonly options?: {
        readonly [key: string]: unknown;
      };
      readonly output_schema?: {
        readonly [key: string]: unknown;
      } | null;
      readonly request: string;
      readonly tags?: {
        readonly [key: string]: string;
      };
    };
    readonly ForkBody: {
      readonly at: number;
      readonly confirmed?: boolean;
      readonly limits?: components["schemas"]["Limits-Input"];
    };
    readonly ForkPoint: {
      readonly run_id: string;
      readonly seq: number;
    };
    readonly Gap: {
      readonly class: components["schemas"]["FailureClass"];
      readonly name: string;
      readonly next_action: string;
      readonly reason: string;
      readonly step: string | null;
      readonly subtask_index: number | null;
      readonly work_order_id: string | null;
    };
    readonly Health: {
      /** @constant */
      readonly status: "ok";
    };
    readonly Judgement: {
      readonly claims: readonly components["schemas"]["Claim"][];
      readonly doubts: readonly components["schemas"]["Doubt"][];
      readonly judged_by: string | null;
    };
    readonly KeyBody: {
      readonly key: string;
    };
    readonly KeyCeilings: {
      readonly budget: number | null;
      readonly budget_per_day: number | null;
      readonly budget_total: number | null;
      readonly max_running_steps: number | null;
      readonly max_runs: number | null;
      readonly max_workers: number | null;
    };
    readonly KeyDocument: {
      readonly ceilings: components["schemas"]["KeyCeilings"];
      readonly created_at: string;
      readonly key_id: string;
      readonly last_used_at: string | null;
      readonly name: string;
      readonly prefix: string;
      readonly revoked_at: string | null;
      readonly scopes: readonly components["schemas"]["Scope"][];
    };
    readonly KeysList: {
      readonly keys: readonly components["schemas"]["KeyDocument"][];
    };
    readonly "Limits-Input": {
      readonly allow_unknown_price?: boolean;
      readonly approval_timeout?: (number | string) | null;
      readonly attempt_timeout?: number | string;
      readonly batch_size?: number | null;
      readonly budget?: number | null;
      readonly budget_per_day?: number | null;
      readonly budget_total?: number | null;
      readonly max_output_tokens?: number;
      readonly max_repairs?: number;
      readonly max_requests?: number | null;
      readonly max_retries?: number;
      readonly max_steps?: number;
      readonly max_tokens?: number | null;
      readonly max_turns?: number;
      readonly max_workers?: number;
      readonly model_patience?: number | string;
      readonly timeout?: (number | string) | null;
    };
    readonly "Limits-Output": {
      readonly allow_unknown_price?: boolean;
      readonly approval_timeout: number | null;
      readonly attempt_timeout: number;
      readonly batch_size: number | null;
      readonly budget: number | null;
      readonly budget_per_day?: number | null;
      readonly budget_total?: number | null;
      readonly max_output_tokens: number;
      readonly max_repairs: number;
      readonly max_requests: number | null;
      readonly max_retries: number;
      readonly max_steps: number;
      readonly max_tokens: number | null;
      readonly max_turns: number;
      readonly max_workers: number;
      readonly model_patience: number;
      readonly timeout: number | null;
    };
    readonly ModelCallBegan: {
      readonly at: string;
      readonly attempt: string;
      readonly call_id: string;
      readonly continues?: string;
      readonly epoch: number;
      readonly kept?: components["schemas"]["Money"];
      readonly model: string;
      readonly request?: readonly (
        | components["schemas"]["Blob"]
        | (
          | components["schemas"]["SystemMessage"]
          | components["schemas"]["UserMessage"]
          | components["schemas"]["AssistantMessage"]
          | components["schemas"]["ToolMessage"]
        )
      )[];
      readonly reserved: components["schemas"]["Money"];
      readonly seq: number;
      readonly shared?: readonly components["schemas"]["Ceiling"][];
      /** @constant */
      readonly type: "model_call_began";
      readonly within?: readonly components["schemas"]["Ceiling"][];
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ModelCallDocument: {
      readonly attempt: string;
      readonly began_at: string;
      readonly call_id: string;
      readonly duration_ms: number | null;
      readonly ended_at: string | null;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly finish_reason: string;
      readonly model: string;
      readonly prompt: components["schemas"]["SentPrompt"];
      readonly reply: components["schemas"]["CallReply"] | null;
      readonly returned_seq: number | null;
      readonly run_id: string;
      readonly seq: number;
      readonly usage: components["schemas"]["RunUsage"] | null;
      readonly worker: string;
    };
    readonly ModelCallReturned: {
      readonly asked?: unknown;
      readonly at: string;
      readonly attempt: string;
      readonly call_id: string;
      readonly duration_ms: number;
      readonly epoch: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly finish_reason: string;
      readonly message: components["schemas"]["AssistantMessage"] | null;
      readonly model: string;
      readonly seq: number;
      /** @constant */
      readonly type: "model_call_returned";
      readonly usage: components["schemas"]["Usage"] | null;
      readonly value: unknown;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ModelChoice: {
      readonly by_use: {
        readonly [key: string]: string;
      };
      readonly default: string;
      readonly windows: {
        readonly [key: string]: number;
      };
    };
    readonly Money: {
      readonly nanousd: number;
      readonly requests: number;
      readonly tokens: number;
    };
    readonly NewKey: {
      readonly budget?: number | null;
      readonly budget_per_day?: number | null;
      readonly budget_total?: number | null;
      readonly max_running_steps?: number | null;
      readonly max_runs?: number | null;
      readonly max_workers?: number | null;
      readonly name: string;
      readonly scopes?: readonly components["schemas"]["Scope"][];
    };
    readonly NewWebhook: {
      readonly events?: readonly ("run.finished" | "run.asks" | "run.failed")[];
      readonly url: string;
    };
    readonly NoteEmitted: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly key?: string;
      readonly message: string;
      readonly refused?: boolean;
      readonly seq: number;
      /** @constant */
      readonly type: "note_emitted";
      readonly waits_for?: string;
      readonly waits_s?: number | null;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly Nothing: Record<string, never>;
    readonly OfferedTool: {
      readonly description: string;
      readonly name: string;
      readonly parameters: {
        readonly [key: string]: unknown;
      };
    };
    readonly Opaque: {
      readonly adapter: string;
      readonly data: {
        readonly [key: string]: unknown;
      };
      readonly model: string;
    };
    readonly OpenCall: {
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly call_id: string;
      readonly changed?: readonly string[];
      readonly hook?: string;
      /** @enum {string} */
      readonly kind: "approval" | "effect" | "question" | "asks";
      readonly reason?: string;
      readonly secrets?: readonly (readonly [
        string,
        string,
      ])[];
      readonly tool: string;
    };
    readonly OpenQuestion: {
      readonly choices: readonly string[];
      readonly id: string;
      readonly text: string;
    };
    readonly OrderIssued: {
      readonly at: string;
      readonly epoch: number;
      readonly order: components["schemas"]["WorkOrder"];
      readonly seq: number;
      /** @constant */
      readonly type: "order_issued";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly OrderPart: {
      readonly goal: string;
      readonly repairs?: string;
      readonly review?: components["schemas"]["ReviewPart"];
      readonly seq: number;
      readonly total: number;
    };
    readonly OutcomePart: {
      readonly actions: readonly components["schemas"]["Action"][];
      readonly causes: readonly string[];
      readonly headline: string;
    };
    readonly Passage: {
      readonly id: string;
      readonly published: string;
      readonly source: string;
      readonly text: string;
      readonly title: string;
      readonly url: string;
    };
    readonly PauseBody: {
      readonly reason?: string;
    };
    readonly PinnedOperation: {
      readonly description?: string;
      readonly effect: components["schemas"]["Effect"];
      readonly fingerprint: string;
      readonly target?: string;
    };
    readonly Plan: {
      readonly sections: readonly components["schemas"]["Section"][];
      readonly title: string;
    };
    readonly ProblemDetails: {
      readonly code: string;
      readonly detail: string;
      readonly how?: string;
      readonly instance: string;
      readonly status: number;
      readonly title: string;
      readonly type?: string;
    } & {
      readonly [key: string]: unknown;
    };
    readonly Question: {
      readonly answered_at?: string | null;
      readonly by?: string;
      readonly choices: readonly string[];
      readonly default?: string;
      readonly expires_at?: string | null;
      readonly holds?: boolean;
      readonly id: string;
      /** @enum {string} */
      readonly kind?: "person" | "timer" | "signal";
      readonly reply: string | null;
      readonly text: string;
    };
    readonly QuestionAnswered: {
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly expired?: boolean;
      readonly question_id: string;
      readonly seq: number;
      readonly text: string;
      /** @constant */
      readonly type: "question_answered";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly QuestionAsked: {
      readonly at: string;
      readonly epoch: number;
      readonly question: components["schemas"]["Question"];
      readonly seq: number;
      /** @constant */
      readonly type: "question_asked";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ReplyBody: {
      readonly question_id?: string;
      readonly text: string;
    };
    readonly ReportDraft: {
      readonly claims: readonly components["schemas"]["Claim"][];
      readonly doubts: readonly components["schemas"]["Doubt"][];
      readonly findings: readonly components["schemas"]["ReportFinding"][];
      readonly key: string;
      readonly number: number;
      readonly text: string;
      readonly verdict: components["schemas"]["Verdict"] | null;
    };
    readonly ReportFeedback: {
      readonly findings: readonly components["schemas"]["ReportFinding"][];
      readonly verdict: components["schemas"]["Verdict"] | null;
    };
    readonly ReportFinding: {
      readonly by: string;
      readonly claim: number | null;
      readonly problem: string;
      readonly text: string | null;
    };
    readonly RequestDecided: {
      readonly args?: {
        readonly [key: string]: unknown;
      } | null;
      readonly at: string;
      readonly by: string;
      readonly declined?: string;
      readonly epoch: number;
      readonly seq: number;
      readonly steps: readonly string[];
      /** @constant */
      readonly type: "request_decided";
      /** @enum {string} */
      readonly what: "retry" | "skip" | "supply";
      readonly words: components["schemas"]["EventWords"];
      readonly workers?: {
        readonly [key: string]: string;
      };
    };
    readonly Research: {
      readonly findings: readonly components["schemas"]["Finding"][];
      readonly heading: string;
      readonly key: string;
      readonly passages?: readonly components["schemas"]["Passage"][];
      readonly question: string;
      readonly summary: string;
    };
    readonly ResultData: {
      readonly raw: unknown;
      readonly sample: boolean;
      readonly sources: readonly components["schemas"]["Source"][];
      readonly summary: string;
      readonly value?: unknown;
    };
    readonly ResultsJudged: {
      readonly at: string;
      readonly epoch: number;
      readonly review: components["schemas"]["Review"];
      readonly seq: number;
      /** @constant */
      readonly type: "results_judged";
      readonly words: components["schemas"]["EventWords"];
      readonly work_order_id: string;
    };
    readonly ResumeBody: {
      readonly limits?: components["schemas"]["Limits-Input"];
    };
    readonly RetryBody: {
      readonly args?: {
        readonly [key: string]: unknown;
      } | null;
      readonly confirmed?: boolean;
      readonly limits?: components["schemas"]["Limits-Input"];
      readonly subtasks?: readonly string[];
    };
    readonly Review: {
      readonly answer: string | null;
      readonly cannot: readonly components["schemas"]["Unsupported"][];
      readonly complete: boolean;
      readonly missing: readonly components["schemas"]["Subtask"][];
      readonly verdicts: readonly components["schemas"]["SubtaskVerdict"][];
    };
    readonly ReviewPart: {
      readonly complete: boolean;
      readonly missing: readonly string[];
      readonly seq: number;
    };
    readonly RunAnswer: {
      readonly answer: string | null;
      readonly evidence: components["schemas"]["EvidencePart"];
      readonly status: components["schemas"]["RunStatus"];
      readonly value: unknown;
    };
    readonly RunApproval: {
      readonly approval_id: string;
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly asked_at: string | null;
      readonly asked_for: string;
      readonly attempt: string;
      readonly by: string;
      readonly by_hand: boolean;
      readonly call_id: string;
      readonly called?: string;
      readonly edited?: boolean;
      readonly effect: components["schemas"]["Effect"];
      readonly expires_at: string | null;
      readonly hook?: string;
      readonly hook_reason?: string;
      /** @enum {string} */
      readonly kind: "call" | "effect" | "plan";
      readonly origins: {
        readonly [key: string]: string;
      };
      readonly reason: string;
      readonly status: components["schemas"]["ApprovalStatus"];
      readonly summary?: string;
      readonly target?: string;
      readonly tool: string;
    };
    readonly RunChanged: {
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly held_back?: components["schemas"]["Money"];
      readonly held_back_s?: number;
      readonly limits: components["schemas"]["Limits-Output"];
      readonly needs_prices?: boolean;
      readonly seq: number;
      readonly turns?: {
        readonly [key: string]: number;
      };
      /** @constant */
      readonly type: "run_changed";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly RunClaimed: {
      readonly at: string;
      readonly epoch: number;
      readonly owner: string;
      readonly seq: number;
      /** @constant */
      readonly type: "run_claimed";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly RunDefinition: {
      readonly approve: components["schemas"]["ApprovalPolicy"];
      readonly approve_plan?: boolean;
      readonly approve_rules: {
        readonly [key: string]: components["schemas"]["ApprovalPolicy"];
      };
      readonly budgets?: readonly components["schemas"]["SharedBudget"][];
      readonly by: string;
      /** @enum {string} */
      readonly check?: "judge" | "exact" | "off";
      readonly concurrency?: components["schemas"]["Concurrency"];
      readonly detached: boolean;
      readonly documents?: string;
      readonly earlier?: readonly components["schemas"]["FileVersion"][];
      readonly flow: string;
      readonly flow_file: string;
      readonly follows?: components["schemas"]["Follows"] | null;
      readonly forked_from: components["schemas"]["ForkPoint"] | null;
      readonly held_back: components["schemas"]["Money"];
      readonly held_back_s: number;
      readonly hooks?: readonly string[];
      readonly instructions?: {
        readonly [key: string]: string;
      };
      readonly judging?: readonly string[];
      readonly key_id?: string;
      readonly limits: components["schemas"]["Limits-Output"];
      readonly messages?: readonly components["schemas"]["EarlierMessage"][];
      readonly models: components["schemas"]["ModelChoice"];
      readonly name?: string;
      readonly needs_prices?: boolean;
      readonly offline: boolean;
      readonly only_documents?: boolean;
      readonly only_tools?: readonly string[] | null;
      readonly options: {
        readonly [key: string]: unknown;
      };
      readonly own_deps?: boolean;
      readonly plan_only?: boolean;
      readonly request: string;
      readonly shape?: string;
      readonly strict?: boolean;
      readonly submission: string;
      readonly tags?: {
        readonly [key: string]: string;
      };
      readonly tools: readonly components["schemas"]["ToolSpec"][];
      readonly traceparent?: string;
      readonly unpriced?: readonly string[];
      /** @enum {string} */
      readonly worker_calls?: "auto" | "always";
      readonly workers: readonly components["schemas"]["Worker"][];
    };
    readonly RunDocument: {
      readonly answer: string | null;
      readonly approvals: readonly components["schemas"]["RunApproval"][];
      readonly approve_plan: boolean;
      readonly artifacts?: readonly components["schemas"]["ArtifactLine"][];
      readonly calls: number;
      readonly claims?: readonly components["schemas"]["Claim"][];
      readonly context_store?: components["schemas"]["ContextStore"];
      readonly created_at: string;
      readonly detached: boolean;
      readonly done: readonly components["schemas"]["DoneCall"][];
      readonly earlier_answers: readonly components["schemas"]["EarlierAnswer"][];
      readonly evidence: components["schemas"]["EvidencePart"];
      readonly failed_calls: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly finished_at: string | null;
      readonly flow: string;
      readonly followed_by: readonly string[];
      readonly follows: components["schemas"]["FollowedRun"] | null;
      readonly forked_from: components["schemas"]["ForkPoint"] | null;
      readonly gaps: readonly components["schemas"]["Gap"][];
      readonly hooks: readonly string[];
      readonly instructions: {
        readonly [key: string]: string;
      };
      readonly last_seq: number;
      readonly limits: components["schemas"]["RunLimits"];
      readonly model: string;
      readonly models: {
        readonly [key: string]: string;
      };
      readonly name: string;
      readonly offline: boolean;
      readonly outcome: components["schemas"]["OutcomePart"];
      readonly owner: string | null;
      readonly plan_only: boolean;
      readonly proposed_limits: {
        readonly [key: string]: number;
      };
      readonly question: components["schemas"]["OpenQuestion"] | null;
      readonly request: string;
      readonly run_id: string;
      readonly sample: boolean;
      readonly sources: readonly components["schemas"]["CitedSource"][];
      readonly status: components["schemas"]["RunStatus"];
      readonly steps?: readonly components["schemas"]["StepLine"][];
      readonly tags: {
        readonly [key: string]: string;
      };
      readonly task?: components["schemas"]["Task"] | null;
      readonly todos?: readonly components["schemas"]["Todo"][];
      readonly tools: readonly string[];
      readonly trace_id: string;
      readonly usage: components["schemas"]["RunUsage"];
      readonly value: unknown;
      readonly waits_for: string;
      readonly work_orders?: readonly components["schemas"]["WorkOrder"][];
      readonly work_state?: components["schemas"]["WorkState"] | null;
      readonly work_states?: readonly components["schemas"]["WorkState"][];
    };
    readonly RunFinished: {
      readonly answer: string;
      readonly at: string;
      readonly epoch: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly gaps: readonly components["schemas"]["Gap"][];
      readonly judgement?: components["schemas"]["Judgement"] | null;
      readonly left_out?: readonly string[];
      readonly number: number;
      readonly sample?: boolean;
      readonly seq: number;
      readonly sources: readonly components["schemas"]["CitedSource"][];
      readonly status: components["schemas"]["RunStatus"];
      /** @constant */
      readonly type: "run_finished";
      readonly value?: unknown;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly RunLimits: {
      readonly allow_unknown_price?: boolean;
      readonly approval_timeout: number | null;
      readonly attempt_timeout: number;
      readonly batch_size: number | null;
      readonly budget: number | null;
      readonly budget_per_day?: number | null;
      readonly budget_total?: number | null;
      readonly max_output_tokens: number;
      readonly max_repairs: number;
      readonly max_requests: number | null;
      readonly max_retries: number;
      readonly max_steps: number;
      readonly max_tokens: number | null;
      readonly max_turns: number;
      readonly max_workers: number;
      readonly model_patience: number;
      readonly timeout: number | null;
      readonly unpriced_models: readonly string[];
    };
    readonly RunLine: {
      readonly asking: number;
      readonly completed: number;
      readonly cost_usd: number | null;
      readonly created_at: string;
      readonly detached: boolean;
      readonly failed: number;
      readonly finished_at: string | null;
      readonly flow: string;
      readonly follows: string;
      readonly last_seq: number;
      readonly model: string;
      readonly name: string;
      readonly orphan: boolean;
      readonly owner: string | null;
      readonly request: string;
      readonly requests: number;
      readonly run_id: string;
      readonly status: components["schemas"]["RunStatus"];
      readonly subtasks: number;
      readonly tags: {
        readonly [key: string]: string;
      };
      readonly tokens: number;
    };
    readonly RunPart: {
      readonly answer?: components["schemas"]["AnswerPart"];
      readonly created_at: string;
      readonly finished_at?: string;
      readonly flow: string;
      readonly model: string;
      readonly owner?: string;
      readonly reason: string;
      readonly request: string;
      readonly status: components["schemas"]["RunStatus"];
      readonly waits: {
        readonly [key: string]: components["schemas"]["WaitPart"];
      };
    };
    readonly RunRequested: {
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly reason: string;
      readonly seq: number;
      /** @constant */
      readonly type: "run_requested";
      /** @enum {string} */
      readonly what: "cancel" | "pause" | "resume";
      readonly words: components["schemas"]["EventWords"];
    };
    /** @enum {string} */
    readonly RunSort: "created" | "cost" | "duration" | "status" | "flow";
    readonly RunsPage: {
      readonly next_cursor: string | null;
      readonly runs: readonly components["schemas"]["RunLine"][];
    };
    readonly RunStarted: {
      readonly at: string;
      readonly definition: components["schemas"]["RunDefinition"];
      readonly epoch: number;
      readonly seq: number;
      /** @constant */
      readonly type: "run_started";
      readonly words: components["schemas"]["EventWords"];
    };
    /** @enum {string} */
    readonly RunStatus:
      | "queued"
      | "running"
      | "waiting"
      | "paused"
      | "succeeded"
      | "partial"
      | "failed"
      | "cancelled";
    readonly RunStatusSet: {
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly reason: string;
      readonly seq: number;
      readonly slept_s?: number;
      /** @enum {string} */
      readonly status: "running" | "paused" | "waiting";
      /** @constant */
      readonly type: "run_status_set";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly RunUsage: {
      readonly cache_write_tokens: number;
      readonly cached_tokens: number;
      readonly cost_usd: number | null;
      readonly input_tokens: number;
      readonly output_tokens: number;
      readonly requests: number;
    };
    /** @enum {string} */
    readonly Scope: "read" | "read:all" | "run" | "approve" | "admin";
    readonly Section: {
      readonly heading: string;
      readonly question: string;
    };
    readonly SentMessage: {
      readonly call_id?: string | null;
      readonly name?: string | null;
      readonly role: string;
      readonly text: string;
      readonly tool_calls?: readonly components["schemas"]["ToolCall"][];
    };
    readonly SentPrompt: {
      readonly max_tokens: number;
      readonly messages: readonly components["schemas"]["SentMessage"][];
      readonly output: {
        readonly [key: string]: unknown;
      } | null;
      readonly tools: readonly components["schemas"]["OfferedTool"][];
    };
    readonly SessionDocument: {
      readonly authenticated: boolean;
      readonly ceilings: components["schemas"]["KeyCeilings"];
      readonly name: string | null;
      readonly needed: boolean;
      readonly scopes: readonly components["schemas"]["Scope"][];
      readonly version: string;
    };
    readonly SetTodos: {
      readonly todos: readonly components["schemas"]["Todo"][];
      /** @constant */
      readonly type: "set_todos";
    };
    readonly SharedBudget: {
      readonly daily: boolean;
      readonly nanousd: number;
      readonly scope: string;
    };
    readonly SharedLimit: {
      readonly most: number;
      readonly scope: string;
    };
    readonly SignalBody: {
      readonly value?: unknown;
    };
    readonly SignalSent: {
      readonly at: string;
      readonly by: string;
      readonly epoch: number;
      readonly name: string;
      readonly seq: number;
      /** @constant */
      readonly type: "signal_sent";
      readonly value: unknown;
      readonly words: components["schemas"]["EventWords"];
    };
    readonly SkipBody: {
      readonly reason?: string;
      readonly subtask: string;
    };
    readonly Source: {
      readonly title: string;
      readonly url: string;
    };
    readonly SpendPart: {
      readonly budget_nanousd?: number;
      readonly cache_write_tokens?: number;
      readonly cached_tokens?: number;
      readonly nanousd: number;
      readonly requests: number;
      readonly tokens: number;
      readonly unpriced: boolean;
    };
    readonly Stage: {
      readonly after: string | null;
      readonly agent: string | null;
      readonly gives: readonly ("plan" | "research" | "draft" | "feedback" | "final_report")[];
      readonly instructions: string | null;
      readonly model: string | null;
      readonly name: string;
      readonly tools: readonly string[] | null;
    };
    readonly Step: {
      readonly counts: boolean;
      readonly digest?: string;
      readonly final: boolean;
      readonly input: {
        readonly [key: string]: unknown;
      };
      readonly instructions: string | null;
      readonly judges?: string;
      readonly key?: string;
      readonly kind?: string;
      readonly line?: string;
      readonly max_calls?: number | null;
      readonly model: string | null;
      readonly needs: readonly string[];
      readonly optional?: boolean;
      readonly output?: {
        readonly [key: string]: unknown;
      } | null;
      readonly parent: string | null;
      readonly place?: string;
      readonly step_id: string;
      readonly subtask: components["schemas"]["Subtask"] | null;
      readonly title: string;
      readonly tools: readonly string[] | null;
      readonly worker: string;
    };
    readonly StepIssued: {
      readonly at: string;
      readonly epoch: number;
      readonly seq: number;
      readonly step: components["schemas"]["Step"];
      /** @constant */
      readonly type: "step_issued";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly StepLine: {
      readonly attempts: number;
      readonly counts: boolean;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly id: string;
      readonly parent?: string | null;
      readonly status: components["schemas"]["StepStatus"];
      readonly summary: string;
      readonly title: string;
      readonly worker: string;
    };
    readonly StepPart: {
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly attempts: {
        readonly [key: string]: components["schemas"]["AttemptPart"];
      };
      readonly by?: string;
      readonly counts: boolean;
      readonly failure?: components["schemas"]["FailurePart"];
      readonly label: string;
      readonly name: string;
      readonly needs: readonly string[];
      readonly note: string;
      readonly order?: string;
      readonly parent?: string;
      readonly position: number;
      readonly repairs?: string;
      readonly seq: number;
      readonly settled_seq?: number;
      /** @enum {string} */
      readonly status:
        | "pending"
        | "running"
        | "waiting"
        | "retrying"
        | "completed"
        | "failed"
        | "dropped";
      readonly superseded_by?: string;
      readonly tool?: string;
      readonly verdict?: components["schemas"]["VerdictPart"];
      readonly worker: string;
    };
    readonly StepRequested: {
      readonly args?: {
        readonly [key: string]: unknown;
      } | null;
      readonly at: string;
      readonly by: string;
      readonly confirmed?: boolean;
      readonly epoch: number;
      readonly may_approve?: boolean;
      readonly raw?: unknown;
      readonly reason?: string;
      readonly seq: number;
      readonly steps: readonly string[];
      readonly summary?: string;
      /** @constant */
      readonly type: "step_requested";
      /** @enum {string} */
      readonly what: "retry" | "skip" | "supply";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly StepSettled: {
      readonly at: string;
      readonly attempt?: string;
      readonly by?: string;
      readonly data?: components["schemas"]["ResultData"] | null;
      readonly epoch: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly final: boolean;
      readonly ok: boolean;
      readonly seq: number;
      readonly step: string;
      /** @constant */
      readonly type: "step_settled";
      readonly words: components["schemas"]["EventWords"];
    };
    /** @enum {string} */
    readonly StepStatus: "pending" | "running" | "waiting" | "completed" | "failed" | "dropped";
    readonly Submission: {
      readonly approve?: ("ask" | "auto" | "never") | {
        readonly [key: string]: "ask" | "auto" | "never";
      } | null;
      readonly approve_plan?: boolean;
      readonly check?: ("judge" | "exact" | "off") | null;
      readonly flow?: string;
      readonly inputs?: readonly unknown[] | null;
      readonly instructions?: string | {
        readonly [key: string]: string;
      } | null;
      readonly lead_model?: string | null;
      readonly limits?: components["schemas"]["Limits-Input"];
      readonly messages?: readonly components["schemas"]["EarlierMessage"][];
      readonly model?: string | null;
      readonly name?: string;
      readonly offline?: boolean;
      readonly only_documents?: boolean;
      readonly options?: {
        readonly [key: string]: unknown;
      };
      readonly output_schema?: {
        readonly [key: string]: unknown;
      } | null;
      readonly plan_only?: boolean;
      readonly request?: string;
      readonly review_model?: string | null;
      readonly strict?: boolean;
      readonly tags?: {
        readonly [key: string]: string;
      };
      readonly tools?: readonly string[] | null;
      readonly worker?: string | null;
      readonly worker_calls?: ("auto" | "always") | null;
      readonly worker_model?: string | null;
    };
    readonly Subtask: {
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly expected_output?: string | {
        readonly [key: string]: unknown;
      } | null;
      readonly name: string;
      readonly needs?: readonly string[];
      readonly repairs_subtask?: string | null;
      readonly tool: string | null;
      readonly worker?: string | null;
    };
    readonly SubtaskProgress: {
      readonly event_ids: readonly string[];
      readonly name: string;
      readonly status: components["schemas"]["StepStatus"];
    };
    readonly SubtaskVerdict: {
      readonly reason: string;
      readonly replacement: components["schemas"]["Subtask"] | null;
      readonly subtask: string;
      readonly verdict: components["schemas"]["VerdictKind"];
    };
    readonly SupplyBody: {
      readonly raw?: unknown;
      readonly subtask: string;
      readonly summary: string;
    };
    readonly SystemMessage: {
      /** @constant */
      readonly role: "system";
      readonly text: string;
    };
    readonly Task: {
      readonly claims: readonly components["schemas"]["Claim"][];
      readonly draft: string | null;
      readonly drafts: readonly components["schemas"]["ReportDraft"][];
      readonly feedback: components["schemas"]["ReportFeedback"] | null;
      readonly final_report: string | null;
      readonly passages: {
        readonly [key: string]: components["schemas"]["CitedPassage"];
      };
      readonly plan: components["schemas"]["Plan"] | unknown;
      readonly research: readonly components["schemas"]["Research"][];
      readonly revisions: number;
      readonly stages: readonly components["schemas"]["Stage"][];
      readonly topic: string;
    };
    readonly TaskEvent: {
      readonly agent: string;
      readonly message: string;
      readonly timestamp: string;
    };
    readonly Todo: {
      readonly content: string;
      readonly id: string;
      readonly priority: string | null;
      /** @enum {string} */
      readonly status: "pending" | "in_progress" | "completed";
    };
    readonly TodoPart: {
      readonly content: string;
      readonly id: string;
      readonly priority?: string;
      /** @enum {string} */
      readonly status: "pending" | "in_progress" | "completed";
    };
    readonly TodosSet: {
      readonly at: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly seq: number;
      readonly todos: readonly components["schemas"]["Todo"][];
      /** @constant */
      readonly type: "todos_set";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ToolCall: {
      readonly arguments: {
        readonly [key: string]: unknown;
      } | null;
      readonly id: string;
      readonly name: string;
      readonly raw: string;
    };
    readonly ToolCallBegan: {
      readonly args: {
        readonly [key: string]: unknown;
      };
      readonly at: string;
      readonly attempt: string;
      readonly call_id: string;
      readonly changed_by?: string;
      readonly effect: components["schemas"]["Effect"];
      readonly epoch: number;
      readonly seq: number;
      readonly tool: string;
      /** @constant */
      readonly type: "tool_call_began";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ToolCallReturned: {
      readonly asks: readonly (
        | components["schemas"]["Delegate"]
        | components["schemas"]["DefineWorker"]
        | components["schemas"]["WriteArtifact"]
        | components["schemas"]["SetTodos"]
        | components["schemas"]["AskPerson"]
      )[];
      readonly at: string;
      readonly attempt: string;
      readonly blocked_args?: {
        readonly [key: string]: unknown;
      } | null;
      readonly cached?: components["schemas"]["CachedFrom"] | null;
      readonly call_id: string;
      readonly duration_ms: number;
      readonly effect?: components["schemas"]["Effect"];
      readonly epoch: number;
      readonly failure: components["schemas"]["Failure"] | null;
      readonly ok: boolean;
      readonly raw: unknown;
      readonly sample: boolean;
      readonly seq: number;
      readonly sources: readonly components["schemas"]["Source"][];
      readonly summary: string | null;
      readonly tool: string;
      /** @constant */
      readonly type: "tool_call_returned";
      readonly words: components["schemas"]["EventWords"];
    };
    readonly ToolMessage: {
      readonly call_id: string;
      readonly content: string;
      readonly name: string;
      readonly ok: boolean;
      /** @constant */
      readonly role: "tool";
    };
    readonly ToolsList: {
      readonly tools: readonly components["schemas"]["ToolSpec"][];
    };
    readonly ToolSpec: {
      readonly approval: components["schemas"]["ApprovalPolicy"] | null;
      readonly cache_s?: number | null;
      readonly concurrency?: number | null;
      readonly delegate: boolean;
      readonly description: string;
      readonly effect: components["schemas"]["Effect"];
      readonly fingerprint: string;
      readonly import_path: string;
      readonly name: string;
      readonly operations?: {
        readonly [key: string]: components["schemas"]["PinnedOperation"];
      };
      readonly output?: {
        readonly [key: string]: unknown;
      } | null;
      readonly parallel?: boolean;
      readonly parameters: {
        readonly [key: string]: unknown;
      };
      readonly polling: boolean;
      readonly rate?: string;
      readonly retries: number;
      readonly target?: string;
      readonly timeout_s: number;
      readonly toolset: string;
      readonly version?: string;
    };
    readonly ToolTrial: {
      readonly data?: components["schemas"]["TrialData"] | null;
      readonly error?: components["schemas"]["Failure"] | null;
      readonly ok: boolean;
      readonly task_name: string;
    };
    readonly TrialData: {
      readonly raw: unknown;
      readonly sample: boolean;
      readonly sources: readonly components["schemas"]["Source"][];
      readonly summary: string | null;
    };
    readonly Unsupported: {
      readonly reason: string;
      readonly what: string;
    };
    readonly Usage: {
      readonly cache_write_tokens?: number;
      readonly cached_tokens?: number;
      readonly input_tokens: number;
      readonly nanousd: number | null;
      readonly output_tokens: number;
      readonly requests: number;
    };
    readonly UserMessage: {
      /** @constant */
      readonly role: "user";
      readonly text: string;
    };
    /** @enum {string} */
    readonly Verdict: "APPROVED" | "NEEDS_REVISION";
    /** @enum {string} */
    readonly VerdictKind: "accept" | "retry" | "replan" | "drop";
    readonly VerdictPart: {
      readonly reason: string;
      /** @enum {string} */
      readonly verdict: "accept" | "retry" | "replan" | "drop";
    };
    readonly ViewDocument: {
      readonly artifacts: {
        readonly [key: string]: components["schemas"]["ArtifactPart"];
      };
      readonly last_at: string;
      readonly last_seq: number;
      readonly orders: {
        readonly [key: string]: components["schemas"]["OrderPart"];
      };
      readonly run: components["schemas"]["RunPart"];
      readonly run_id: string;
      readonly spend: components["schemas"]["SpendPart"];
      readonly steps: {
        readonly [key: string]: components["schemas"]["StepPart"];
      };
      readonly todos: readonly components["schemas"]["TodoPart"][];
    };
    readonly WaitPart: {
      readonly attempt: string;
      readonly since: string;
      readonly text: string;
      readonly until: string;
    };
    readonly WebhookDocument: {
      readonly by: string;
      readonly created_at: string;
      readonly events: readonly ("run.finished" | "run.asks" | "run.failed")[];
      readonly every: boolean;
      readonly url: string;
      readonly webhook_id: string;
    };
    readonly WebhooksList: {
      readonly webhooks: readonly components["schemas"]["WebhookDocument"][];
    };
    readonly Worker: {
      readonly budget: number | null;
      readonly code?: string;
      readonly counts: boolean;
      readonly declared?: boolean;
      readonly delegates?: readonly string[];
      readonly description?: string;
      readonly elements?: string;
      readonly fallbacks?: readonly string[];
      readonly fingerprint?: string;
      readonly input?: {
        readonly [key: string]: unknown;
      } | null;
      readonly instructions: string;
      /** @enum {string} */
      readonly loop: "turns" | "reply" | "code";
      readonly max_children?: number | null;
      readonly max_requests: number | null;
      readonly max_tokens: number | null;
      readonly max_turns: number | null;
      readonly model: string | null;
      /** @enum {string} */
      readonly model_role?: "" | "plan" | "work" | "review" | "compose";
      readonly name: string;
      readonly output: unknown;
      readonly settings?: components["schemas"]["CallSettings"] | null;
      readonly tools: readonly string[];
    };
    readonly WorkerDefined: {
      readonly at: string;
      readonly attempt: string;
      readonly description: string;
      readonly epoch: number;
      readonly seq: number;
      /** @constant */
      readonly type: "worker_defined";
      readonly words: components["schemas"]["EventWords"];
      readonly worker: components["schemas"]["Worker"];
    };
    readonly WorkerDocument: {
      readonly description: string;
      readonly input: {
        readonly [key: string]: unknown;
      } | null;
      readonly instructions: string;
      readonly limits: {
        readonly [key: string]: number;
      };
      readonly made_by: string | null;
      readonly model: string | null;
      readonly name: string;
      readonly output: {
        readonly [key: string]: unknown;
      } | null;
      readonly path: string;
      readonly problem: string | null;
      readonly run_id: string | null;
      /** @enum {string} */
      readonly source: "project" | "generated";
      readonly text: string;
      readonly tools: readonly string[];
      readonly toolsets: readonly string[];
    };
    readonly WorkersList: {
      readonly workers: readonly components["schemas"]["WorkerDocument"][];
    };
    readonly WorkOrder: {
      readonly goal: string;
      readonly keys?: readonly string[];
      readonly repairs?: string | null;
      readonly subtasks: readonly components["schemas"]["Subtask"][];
      readonly work_order_id: string;
    };
    readonly WorkState: {
      readonly completed: boolean;
      readonly created_at: string;
      readonly subtask_state: {
        readonly [key: string]: components["schemas"]["SubtaskProgress"];
      };
      readonly work_order_id: string;
    };
    readonly WriteArtifact: {
      readonly content: string | null;
      readonly digest: string;
      readonly path: string;
      readonly size: number;
      /** @constant */
      readonly type: "write_artifact";
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type Action = components["schemas"]["Action"];
export type AnswerBody = components["schemas"]["AnswerBody"];
export type AnswerPart = components["schemas"]["AnswerPart"];
export type Approval = components["schemas"]["Approval"];
export type ApprovalAnswered = components["schemas"]["ApprovalAnswered"];
export type ApprovalCard = components["schemas"]["ApprovalCard"];
export type ApprovalPolicy = components["schemas"]["ApprovalPolicy"];
export type ApprovalRequested = components["schemas"]["ApprovalRequested"];
export type ApprovalsList = components["schemas"]["ApprovalsList"];
export type ApprovalStatus = components["schemas"]["ApprovalStatus"];
export type ArtifactLine = components["schemas"]["ArtifactLine"];
export type ArtifactPart = components["schemas"]["ArtifactPart"];
export type ArtifactWritten = components["schemas"]["ArtifactWritten"];
export type AskPerson = components["schemas"]["AskPerson"];
export type AssistantMessage = components["schemas"]["AssistantMessage"];
export type AttemptParked = components["schemas"]["AttemptParked"];
export type AttemptPart = components["schemas"]["AttemptPart"];
export type AttemptReturned = components["schemas"]["AttemptReturned"];
export type AttemptScheduled = components["schemas"]["AttemptScheduled"];
export type AttemptStarted = components["schemas"]["AttemptStarted"];
export type Blob = components["schemas"]["Blob"];
export type CachedFrom = components["schemas"]["CachedFrom"];
export type CallAnswered = components["schemas"]["CallAnswered"];
export type CallBody = components["schemas"]["CallBody"];
export type CallPart = components["schemas"]["CallPart"];
export type CallReply = components["schemas"]["CallReply"];
export type CallSettings = components["schemas"]["CallSettings"];
export type Ceiling = components["schemas"]["Ceiling"];
export type CitedPassage = components["schemas"]["CitedPassage"];
export type CitedSource = components["schemas"]["CitedSource"];
export type Claim = components["schemas"]["Claim"];
export type ClaimVerdict = components["schemas"]["ClaimVerdict"];
export type Concurrency = components["schemas"]["Concurrency"];
export type ContextEvent = components["schemas"]["ContextEvent"];
export type ContextStore = components["schemas"]["ContextStore"];
export type ConversationCompacted = components["schemas"]["ConversationCompacted"];
export type CreatedKey = components["schemas"]["CreatedKey"];
export type CreatedWebhook = components["schemas"]["CreatedWebhook"];
export type DefineWorker = components["schemas"]["DefineWorker"];
export type Delegate = components["schemas"]["Delegate"];
export type DeliveriesList = components["schemas"]["DeliveriesList"];
export type DeliveryDocument = components["schemas"]["DeliveryDocument"];
export type DoneCall = components["schemas"]["DoneCall"];
export type Doubt = components["schemas"]["Doubt"];
export type EarlierAnswer = components["schemas"]["EarlierAnswer"];
export type EarlierMessage = components["schemas"]["EarlierMessage"];
export type Effect = components["schemas"]["Effect"];
export type ElementWritten = components["schemas"]["ElementWritten"];
export type EventDocument = components["schemas"]["EventDocument"];
export type EventRefs = components["schemas"]["EventRefs"];
export type EventsPage = components["schemas"]["EventsPage"];
export type EventWords = components["schemas"]["EventWords"];
export type EvidencePart = components["schemas"]["EvidencePart"];
export type Failure = components["schemas"]["Failure"];
export type FailureClass = components["schemas"]["FailureClass"];
export type FailurePart = components["schemas"]["FailurePart"];
export type FileVersion = components["schemas"]["FileVersion"];
export type Finding = components["schemas"]["Finding"];
export type FlowDocument = components["schemas"]["FlowDocument"];
export type FlowsList = components["schemas"]["FlowsList"];
export type FollowedRun = components["schemas"]["FollowedRun"];
export type Follows = components["schemas"]["Follows"];
export type FollowUp = components["schemas"]["FollowUp"];
export type ForkBody = components["schemas"]["ForkBody"];
export type ForkPoint = components["schemas"]["ForkPoint"];
export type Gap = components["schemas"]["Gap"];
export type Health = components["schemas"]["Health"];
export type Judgement = components["schemas"]["Judgement"];
export type KeyBody = components["schemas"]["KeyBody"];
export type KeyCeilings = components["schemas"]["KeyCeilings"];
export type KeyDocument = components["schemas"]["KeyDocument"];
export type KeysList = components["schemas"]["KeysList"];
export type LimitsInput = components["schemas"]["Limits-Input"];
export type LimitsOutput = components["schemas"]["Limits-Output"];
export type ModelCallBegan = components["schemas"]["ModelCallBegan"];
export type ModelCallDocument = components["schemas"]["ModelCallDocument"];
export type ModelCallReturned = components["schemas"]["ModelCallReturned"];
export type ModelChoice = components["schemas"]["ModelChoice"];
export type Money = components["schemas"]["Money"];
export type NewKey = components["schemas"]["NewKey"];
export type NewWebhook = components["schemas"]["NewWebhook"];
export type NoteEmitted = components["schemas"]["NoteEmitted"];
export type Nothing = components["schemas"]["Nothing"];
export type OfferedTool = components["schemas"]["OfferedTool"];
export type Opaque = components["schemas"]["Opaque"];
export type OpenCall = components["schemas"]["OpenCall"];
export type OpenQuestion = components["schemas"]["OpenQuestion"];
export type OrderIssued = components["schemas"]["OrderIssued"];
export type OrderPart = components["schemas"]["OrderPart"];
export type OutcomePart = components["schemas"]["OutcomePart"];
export type Passage = components["schemas"]["Passage"];
export type PauseBody = components["schemas"]["PauseBody"];
export type PinnedOperation = components["schemas"]["PinnedOperation"];
export type Plan = components["schemas"]["Plan"];
export type ProblemDetails = components["schemas"]["ProblemDetails"];
export type Question = components["schemas"]["Question"];
export type QuestionAnswered = components["schemas"]["QuestionAnswered"];
export type QuestionAsked = components["schemas"]["QuestionAsked"];
export type ReplyBody = components["schemas"]["ReplyBody"];
export type ReportDraft = components["schemas"]["ReportDraft"];
export type ReportFeedback = components["schemas"]["ReportFeedback"];
export type ReportFinding = components["schemas"]["ReportFinding"];
export type RequestDecided = components["schemas"]["RequestDecided"];
export type Research = components["schemas"]["Research"];
export type ResultData = components["schemas"]["ResultData"];
export type ResultsJudged = components["schemas"]["ResultsJudged"];
export type ResumeBody = components["schemas"]["ResumeBody"];
export type RetryBody = components["schemas"]["RetryBody"];
export type Review = components["schemas"]["Review"];
export type ReviewPart = components["schemas"]["ReviewPart"];
export type RunAnswer = components["schemas"]["RunAnswer"];
export type RunApproval = components["schemas"]["RunApproval"];
export type RunChanged = components["schemas"]["RunChanged"];
export type RunClaimed = components["schemas"]["RunClaimed"];
export type RunDefinition = components["schemas"]["RunDefinition"];
export type RunDocument = components["schemas"]["RunDocument"];
export type RunFinished = components["schemas"]["RunFinished"];
export type RunLimits = components["schemas"]["RunLimits"];
export type RunLine = components["schemas"]["RunLine"];
export type RunPart = components["schemas"]["RunPart"];
export type RunRequested = components["schemas"]["RunRequested"];
export type RunSort = components["schemas"]["RunSort"];
export type RunsPage = components["schemas"]["RunsPage"];
export type RunStarted = components["schemas"]["RunStarted"];
export type RunStatus = components["schemas"]["RunStatus"];
export type RunStatusSet = components["schemas"]["RunStatusSet"];
export type RunUsage = components["schemas"]["RunUsage"];
export type Scope = components["schemas"]["Scope"];
export type Section = components["schemas"]["Section"];
export type SentMessage = components["schemas"]["SentMessage"];
export type SentPrompt = components["schemas"]["SentPrompt"];
export type SessionDocument = components["schemas"]["SessionDocument"];
export type SetTodos = components["schemas"]["SetTodos"];
export type SharedBudget = components["schemas"]["SharedBudget"];
export type SharedLimit = components["schemas"]["SharedLimit"];
export type SignalBody = components["schemas"]["SignalBody"];
export type SignalSent = components["schemas"]["SignalSent"];
export type SkipBody = components["schemas"]["SkipBody"];
export type Source = components["schemas"]["Source"];
export type SpendPart = components["schemas"]["SpendPart"];
export type Stage = components["schemas"]["Stage"];
export type Step = components["schemas"]["Step"];
export type StepIssued = components["schemas"]["StepIssued"];
export type StepLine = components["schemas"]["StepLine"];
export type StepPart = components["schemas"]["StepPart"];
export type StepRequested = components["schemas"]["StepRequested"];
export type StepSettled = components["schemas"]["StepSettled"];
export type StepStatus = components["schemas"]["StepStatus"];
export type Submission = components["schemas"]["Submission"];
export type Subtask = components["schemas"]["Subtask"];
export type SubtaskProgress = components["schemas"]["SubtaskProgress"];
export type SubtaskVerdict = components["schemas"]["SubtaskVerdict"];
export type SupplyBody = components["schemas"]["SupplyBody"];
export type SystemMessage = components["schemas"]["SystemMessage"];
export type Task = components["schemas"]["Task"];
export type TaskEvent = components["schemas"]["TaskEvent"];
export type Todo = components["schemas"]["Todo"];
export type TodoPart = components["schemas"]["TodoPart"];
export type TodosSet = components["schemas"]["TodosSet"];
export type ToolCall = components["schemas"]["ToolCall"];
export type ToolCallBegan = components["schemas"]["ToolCallBegan"];
export type ToolCallReturned = components["schemas"]["ToolCallReturned"];
export type ToolMessage = components["schemas"]["ToolMessage"];
export type ToolsList = components["schemas"]["ToolsList"];
export type ToolSpec = components["schemas"]["ToolSpec"];
export type ToolTrial = components["schemas"]["ToolTrial"];
export type TrialData = components["schemas"]["TrialData"];
export type Unsupported = components["schemas"]["Unsupported"];
export type Usage = components["schemas"]["Usage"];
export type UserMessage = components["schemas"]["UserMessage"];
export type Verdict = components["schemas"]["Verdict"];
export type VerdictKind = components["schemas"]["VerdictKind"];
export type VerdictPart = components["schemas"]["VerdictPart"];
export type ViewDocument = components["schemas"]["ViewDocument"];
export type WaitPart = components["schemas"]["WaitPart"];
export type WebhookDocument = components["schemas"]["WebhookDocument"];
export type WebhooksList = components["schemas"]["WebhooksList"];
export type Worker = components["schemas"]["Worker"];
export type WorkerDefined = components["schemas"]["WorkerDefined"];
export type WorkerDocument = components["schemas"]["WorkerDocument"];
export type WorkersList = components["schemas"]["WorkersList"];
export type WorkOrder = components["schemas"]["WorkOrder"];
export type WorkState = components["schemas"]["WorkState"];
export type WriteArtifact = components["schemas"]["WriteArtifact"];
export type $defs = Record<string, never>;

/** Every value of RunStatus. */
export const RUN_STATUSES: readonly RunStatus[] = [
  "queued",
  "running",
  "waiting",
  "paused",
  "succeeded",
  "partial",
  "failed",
  "cancelled",
];

/** Every value of RunSort. */
export const RUN_SORTS: readonly RunSort[] = ["created", "cost", "duration", "status", "flow"];

/** The schema of limits in a form. */
export const LIMITS: Schema = {
  "properties": {
    "budget": {
      "anyOf": [{ "type": "number" }, { "type": "null" }],
      "description": "Most that a run may cost. If you set it, prices must be known.",
    },
    "max_steps": {
      "description": "Most work orders: the first plan, and repairs.",
      "type": "integer",
    },
    "max_workers": {
      "description": "Most steps of a run that are carried out at once.",
      "type": "integer",
    },
    "timeout": {
      "anyOf": [{ "type": "number" }, { "type": "null" }],
      "description": "Longest time that a run may take.",
    },
    "max_requests": {
      "anyOf": [{ "type": "integer" }, { "type": "null" }],
      "description": "Most model calls of a run.",
    },
    "max_tokens": {
      "anyOf": [{ "type": "integer" }, { "type": "null" }],
      "description": "Most tokens of all model calls of a run together.",
    },
    "batch_size": {
      "anyOf": [{ "type": "integer" }, { "type": "null" }],
      "description": "Start subtasks in groups of this size instead of all at once.",
    },
    "max_output_tokens": {
      "description": "Most tokens of one reply; reasoning has 8,000 more.",
      "type": "integer",
    },
    "attempt_timeout": {
      "description": "Longest time of one attempt at a step.",
      "type": "number",
    },
    "model_patience": {
      "description":
        "How long a call waits for a model server that is away, or that does not begin to answer.",
      "type": "number",
    },
    "approval_timeout": {
      "anyOf": [{ "type": "number" }, { "type": "null" }],
      "description": "When an approval that nobody answers is denied.",
    },
  },
};

/** The schema of limits in a form. */
export const NEW_LIMITS: Schema = {
  "properties": {
    "budget": {
      "anyOf": [{ "type": "number" }, { "type": "null" }],
      "description": "Most that a run may cost. If you set it, prices must be known.",
    },
    "timeout": {
      "anyOf": [{ "type": "number" }, { "type": "null" }],
      "description": "Longest time that a run may take.",
    },
    "max_requests": {
      "anyOf": [{ "type": "integer" }, { "type": "null" }],
      "description": "Most model calls of a run.",
    },
    "max_tokens": {
      "anyOf": [{ "type": "integer" }, { "type": "null" }],
      "description": "Most tokens of all model calls of a run together.",
    },
    "max_turns": {
      "description": "Most model calls of one attempt; of a run that continues, of its lead.",
      "type": "integer",
    },
  },
};

/** The schema of some fields of Submission. */
export const SETTINGS: Schema = {
  "type": "object",
  "properties": {
    "approve": {
      "type": "string",
      "enum": ["ask", "auto", "never"],
      "description":
        'What to do with calls that need approval: a policy, or policies by what they match, of which the first counts: {"tool:send_*": "auto", "*": "ask"}. Default: as the server has it.',
    },
    "approve_plan": {
      "type": "boolean",
      "description": "Wait until a person approves the plan before any work begins.",
    },
    "check": {
      "anyOf": [{ "type": "string", "enum": ["judge", "exact", "off"] }, { "type": "null" }],
      "description": "Who checks the answer. Default: the server's setting, else a judge.",
    },
    "strict": { "type": "boolean", "description": "Let doubts about the answer make it partial." },
    "lead_model": {
      "anyOf": [{ "type": "string" }, { "type": "null" }],
      "description": "The model that plans, reviews and writes the answer.",
    },
    "worker_model": {
      "anyOf": [{ "type": "string" }, { "type": "null" }],
      "description": "The model of the workers.",
    },
    "review_model": {
      "anyOf": [{ "type": "string" }, { "type": "null" }],
      "description": "The model that reviews results.",
    },
    "worker_calls": {
      "anyOf": [{ "type": "string", "enum": ["auto", "always"] }, { "type": "null" }],
      "description":
        "Let a model write the result of every subtask (always), or only where what the tool returned is not enough (auto). Default: the server's setting, else auto.",
    },
  },
};
