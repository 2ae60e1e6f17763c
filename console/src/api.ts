// The routes of the service as typed functions; a failure throws a Problem.

import { heard } from "./clock.ts";
import { reachable } from "./connection.ts";
import type { Json, JsonObject } from "./json.ts";
import type {
  AgentDocument,
  AnswerBody,
  ApprovalCard,
  EventDocument,
  EventsPage,
  RunDocument,
  RunsPage,
  SessionDocument,
  Submission,
  SystemDocument,
  ToolDocument,
  ToolTrial,
} from "./wire.ts";
import { Problem, problemOf } from "./problem.ts";
import type { View } from "./run/view.ts";
import { session } from "./session.ts";

export { follow } from "./follow.ts";
export type { Following, Handlers } from "./follow.ts";
export type { LinkState } from "./connection.ts";
export { asProblem, Problem } from "./problem.ts";

/** Options of any call: a signal that aborts it. */
export interface Giving {
  readonly signal?: AbortSignal;
}

export const getSession = (giving?: Giving) => get<SessionDocument>("/api/session", giving);
export const logIn = (key: string) => send<SessionDocument>("POST", "/api/session", { key });
export const logOut = () => send<void>("DELETE", "/api/session");

export interface RunFilter {
  readonly status?: string;
  readonly q?: string;
  readonly since?: string;
  readonly until?: string;
  readonly asking?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Start a run. The same `key` twice starts one run, even if the first answer was lost. */
export const startRun = (run: Submission, key: string) =>
  send<RunDocument>("POST", "/api/runs", run, { "Idempotency-Key": key });
export const getRuns = (filter: RunFilter = {}, giving?: Giving) =>
  get<RunsPage>(`/api/runs${queryOf({ ...filter })}`, giving);
export const getRun = (runId: string, giving?: Giving) =>
  get<RunDocument>(`/api/runs/${encodeURIComponent(runId)}`, giving);
/** What the run screen shows, as of now. */
export const getView = (runId: string, giving?: Giving) =>
  get<View>(`/api/runs/${encodeURIComponent(runId)}/view`, giving);
export const getEvents = (
  runId: string,
  page: { after?: number; limit?: number; brief?: boolean } = {},
  giving?: Giving,
) =>
  get<EventsPage>(`/api/runs/${encodeURIComponent(runId)}/events${queryOf({ ...page })}`, giving);
/** One entry of the log, whole. */
export const getEvent = (runId: string, seq: number, giving?: Giving) =>
  get<EventDocument>(`/api/runs/${encodeURIComponent(runId)}/events/${seq}`, giving);
/** A payload that an event references by digest. */
export const getPayload = (digest: string, giving?: Giving) =>
  get<Json>(`/api/payloads/${encodeURIComponent(digest)}`, giving);
export const getArtifacts = (runId: string, giving?: Giving) =>
  get<{ readonly artifacts: readonly Json[] }>(
    `/api/runs/${encodeURIComponent(runId)}/artifacts`,
    giving,
  );

/** Return the path of a run as a file. */
export const exportPath = (runId: string, format: "jsonl" | "html") =>
  `/api/runs/${encodeURIComponent(runId)}/export?format=${format}`;

const steer = (verb: string) => (runId: string, body: object) =>
  send<RunDocument>("POST", `/api/runs/${encodeURIComponent(runId)}/${verb}`, body);

export const cancelRun = (runId: string) => steer("cancel")(runId, {});
export const pauseRun = (runId: string, reason?: string) =>
  steer("pause")(runId, reason ? { reason } : {});
export const resumeRun = (runId: string) => steer("resume")(runId, {});
/** Retry what failed, or only some of it. 409 "unconfirmed": something might happen twice. */
export const retryRun = (
  runId: string,
  body: { subtasks?: readonly string[]; args?: JsonObject; confirmed?: boolean } = {},
) => steer("retry")(runId, body);
export const skipSubtask = (runId: string, body: { subtask: string; reason?: string }) =>
  steer("skip")(runId, body);
export const supplyResult = (
  runId: string,
  body: { subtask: string; summary: string; raw?: Json },
) => steer("supply")(runId, body);
/** Start a new run that shares the log up to `at`; return its document. */
export const forkRun = (runId: string, body: { at: number; confirmed?: boolean }) =>
  steer("fork")(runId, body);

export const getApprovals = (runId?: string, giving?: Giving) =>
  get<{ readonly approvals: readonly ApprovalCard[] }>(
    `/api/approvals${queryOf({ run_id: runId })}`,
    giving,
  );
/** An open approval; 404 once it is answered. */
export const getApproval = (id: string) =>
  get<ApprovalCard>(`/api/approvals/${encodeURIComponent(id)}`);
export const answerApproval = (id: string, answer: AnswerBody) =>
  send<ApprovalCard & { readonly status: string }>(
    "POST",
    `/api/approvals/${encodeURIComponent(id)}`,
    answer,
  );

export const getTools = (giving?: Giving) =>
  get<{ readonly tools: readonly ToolDocument[] }>("/api/tools", giving);
export const getTool = (name: string, giving?: Giving) =>
  get<ToolDocument>(`/api/tools/${encodeURIComponent(name)}`, giving);
export const callTool = (
  name: string,
  call: { args: JsonObject; offline?: boolean; confirmed?: boolean },
) => send<ToolTrial>("POST", `/api/tools/${encodeURIComponent(name)}/call`, call);
export const getAgents = (giving?: Giving) =>
  get<{ readonly agents: readonly AgentDocument[] }>("/api/agents", giving);
export const getWorkers = (giving?: Giving) =>
  get<{ readonly workers: readonly JsonObject[] }>("/api/workers", giving);
/** Change a role for new runs; null: the default. */
export const setAgent = (
  name: string,
  body: { model: string | null; instructions: string | null },
) => send<AgentDocument>("PUT", `/api/agents/${encodeURIComponent(name)}`, body);
/** Reset a role to its defaults. */
export const unsetAgent = (name: string) =>
  send<void>("DELETE", `/api/agents/${encodeURIComponent(name)}`);
export const getSystem = (giving?: Giving) => get<SystemDocument>("/api/system", giving);

/** Return a query string of the values that are set; "" without any. */
export function queryOf(values: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const written = query.toString();
  return written && `?${written}`;
}

function get<T>(path: string, giving?: Giving): Promise<T> {
  return call<T>(path, { signal: giving?.signal });
}

function send<T>(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<T> {
  return call<T>(path, {
    method,
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

async function call<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  const sent = Date.now();
  try {
    response = await fetch(path, {
      ...init,
      headers: { Accept: "application/json", ...init.headers },
      credentials: "same-origin",
    });
  } catch (error) {
    if (init.signal?.aborted) throw error; // aborted here: says nothing about the service
    reachable.value = false;
    throw new Problem({
      status: 0,
      code: "unreachable",
      title: "The service does not answer",
      how: "Your input is kept. Try again when the header shows Connected.",
    });
  }
  reachable.value = true;
  heard(response.headers.get("Date"), sent, Date.now());
  if (response.status === 401 && path !== "/api/session" && session.value?.needed) {
    session.value = { ...session.value, authenticated: false, name: null, scopes: [] };
  }
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? undefined as T : await response.json() as T;
}
