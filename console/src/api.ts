// The routes of the service as typed functions; a failure throws a Problem.

import { syncClock } from "./clock.ts";
import { reachable } from "./connection.ts";
import type { Json, JsonObject } from "./json.ts";
import type {
  AnswerBody,
  ApprovalCard,
  ArtifactLine,
  EventDocument,
  EventsPage,
  FlowsList,
  FollowUp,
  HostsDocument,
  ModelCallDocument,
  NewLimits,
  PromotedWorker,
  ReplyBody,
  RunDocument,
  RunsPage,
  SessionDocument,
  Submission,
  SystemDocument,
  ToolDocument,
  ToolTrial,
  WorkerPromotion,
  WorkersList,
} from "./wire.ts";
import { Problem, problemOf } from "./problem.ts";
import type { View } from "./run/state/view.ts";
import { addressOf } from "./router.ts";
import { endSession, session } from "./session.ts";

export { asProblem, Problem } from "./problem.ts";

/** A signal that aborts the request. */
interface RequestOptions {
  readonly signal?: AbortSignal;
}

export const getSession = (options?: RequestOptions) =>
  get<SessionDocument>("/api/session", options);
export const logIn = (key: string) => send<SessionDocument>("POST", "/api/session", { key });
export const logOut = () => send<void>("DELETE", "/api/session");

export interface RunFilter {
  readonly status?: string;
  readonly flow?: string;
  readonly search?: string;
  readonly tag?: readonly string[];
  readonly min_cost_usd?: string;
  readonly max_cost_usd?: string;
  readonly min_duration_s?: string;
  readonly max_duration_s?: string;
  readonly sort?: string;
  readonly ascending?: boolean;
  readonly since?: string;
  readonly asking?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Start a run. The same `key` twice starts one run, even if the first response was lost. */
export const startRun = (run: Submission, key: string) =>
  send<RunDocument>("POST", "/api/runs", run, { "Idempotency-Key": key });
export const getRuns = (filter: RunFilter = {}, options?: RequestOptions) =>
  get<RunsPage>(`/api/runs${queryOf({ ...filter })}`, options);
/** A run with the parts of its document that the console shows. */
export const getRun = (runId: string) =>
  get<RunDocument>(
    pathOf(runId, queryOf({ include: ["steps", "work_orders", "claims", "task"] })),
  );
/** What the run screen shows, as of now. */
export const getView = (runId: string) => get<View>(pathOf(runId, "view"));
export const getEvents = (
  runId: string,
  page: { after: number; limit: number; brief?: boolean },
) => get<EventsPage>(`${pathOf(runId, "events")}${queryOf(page)}`);
/** One entry of the log, whole. */
export const getEvent = (runId: string, seq: number, options?: RequestOptions) =>
  get<EventDocument>(pathOf(runId, `events/${seq}`), options);
/** A payload that an event of a run references by digest. */
export const getPayload = (
  digest: string,
  event: { run_id: string; seq: number },
  options?: RequestOptions,
) => get<Json>(pathOf(event.run_id, `events/${event.seq}/payloads/${digest}`), options);

/** Return the path of a run as a file. */
export const exportPath = (runId: string, format: "jsonl" | "html") =>
  pathOf(runId, `export?format=${format}`);

const control = (runId: string, action: string, body: object = {}) =>
  send<RunDocument>("POST", pathOf(runId, action), body);

export const cancelRun = (runId: string) => control(runId, "cancel");
export const pauseRun = (runId: string) => control(runId, "pause");
/** Resume a run; with other limits, also one that is over because a limit was used up. */
export const resumeRun = (runId: string, body: { limits?: NewLimits } = {}) =>
  control(runId, "resume", body);
/** Answer a question of a run. 409: it was answered elsewhere, or the run is over. */
export const answerQuestion = (runId: string, body: ReplyBody) => control(runId, "answer", body);
/** Retry what failed, or only some of it. 409 "unconfirmed": something might happen twice. */
export const retryRun = (
  runId: string,
  body: {
    subtasks?: readonly string[];
    args?: JsonObject;
    confirmed?: boolean;
    limits?: NewLimits;
  },
) => control(runId, "retry", body);
export const skipSubtask = (runId: string, body: { subtask: string; reason?: string }) =>
  control(runId, "skip", body);
export const supplyResult = (
  runId: string,
  body: { subtask: string; summary: string; raw?: Json },
) => control(runId, "supply", body);
/** Start a new run that shares the log up to `at`; return its document. */
export const forkRun = (
  runId: string,
  body: { at: number; confirmed?: boolean; limits?: NewLimits },
) => control(runId, "fork", body);

/** Rename a run (null: keep its name), and set tags; null as the value of a tag removes it. */
export const labelRun = (
  runId: string,
  body: { name: string | null; tags: { readonly [key: string]: string | null } },
) => send<RunDocument>("PATCH", pathOf(runId), body);

/** Delete a run that is over. */
export const deleteRun = (runId: string) => send<void>("DELETE", pathOf(runId));

/** Start a new run that follows up one that is over; return its document. The same `key` twice starts one run. */
export const followUp = (runId: string, body: FollowUp, key: string) =>
  send<RunDocument>("POST", pathOf(runId, "follow-up"), body, { "Idempotency-Key": key });

const approvals = (query: string, options?: RequestOptions) =>
  get<{ readonly approvals: readonly ApprovalCard[] }>(`/api/approvals${query}`, options);

export const getApprovals = (options?: RequestOptions) => approvals("", options);
export const getApprovalsOf = (runId: string) => approvals(queryOf({ run_id: runId }));
/** An open approval; 404 once it is answered. */
export const getApproval = (id: string) =>
  get<ApprovalCard>(`/api/approvals/${encodeURIComponent(id)}`);
export const answerApproval = (id: string, answer: AnswerBody) =>
  send<ApprovalCard>("POST", `/api/approvals/${encodeURIComponent(id)}`, answer);

export const getTools = (options?: RequestOptions) =>
  get<{ readonly tools: readonly ToolDocument[] }>("/api/tools", options);
export const callTool = (
  name: string,
  call: { args: JsonObject; offline?: boolean; confirmed?: boolean },
) => send<ToolTrial>("POST", `/api/tools/${encodeURIComponent(name)}/call`, call);
export const getWorkers = (options?: RequestOptions) => get<WorkersList>("/api/workers", options);
/** What promoting a generated worker would change. */
export const getPromotion = (name: string, runId: string | null, options?: RequestOptions) =>
  get<WorkerPromotion>(
    `/api/workers/${encodeURIComponent(name)}/promotion${queryOf({ run_id: runId ?? undefined })}`,
    options,
  );
/** Promote a worker as it was shown: `digest` is that of the promotion. */
export const promoteWorker = (name: string, runId: string | null, digest: string) =>
  send<PromotedWorker>("POST", `/api/workers/${encodeURIComponent(name)}/promote`, {
    digest,
    ...(runId && { run_id: runId }),
  });
/** One model call: by the number of the event with which it began, or by its id. */
export const getCall = (runId: string, call: string, options?: RequestOptions) =>
  get<ModelCallDocument>(pathOf(runId, `calls/${encodeURIComponent(call)}`), options);
export const getFlows = (options?: RequestOptions) => get<FlowsList>("/api/flows", options);
export const getSystem = (options?: RequestOptions) => get<SystemDocument>("/api/system", options);

/** The processes and their queue: of a database that processes share, which is PostgreSQL. */
export const getHosts = (options?: RequestOptions) => get<HostsDocument>("/api/hosts", options);

/** Every version of the files that a run wrote. */
export const getArtifacts = (runId: string, options?: RequestOptions) =>
  get<readonly ArtifactLine[]>(pathOf(runId, "artifacts"), options);
/** Return the address under which a version of an artifact is downloaded. */
export const artifactUrl = (runId: string, path: string, version: number) =>
  pathOf(
    runId,
    `artifacts/${path.split("/").map(encodeURIComponent).join("/")}?version=${version}`,
  );

const MOST_SHOWN = 10_000_000;

/** The text of a version of an artifact; false if it has more than 10 MB. */
export async function getArtifact(
  runId: string,
  path: string,
  version: number,
  options?: RequestOptions,
): Promise<string | false> {
  const response = await answerOf(artifactUrl(runId, path, version), {
    signal: options?.signal,
    headers: { Accept: "application/octet-stream" },
  });
  if (Number(response.headers.get("Content-Length")) <= MOST_SHOWN) return await response.text();
  await response.body?.cancel();
  return false;
}

function pathOf(runId: string, rest = ""): string {
  return `/api/runs/${encodeURIComponent(runId)}${/^\?|^$/.test(rest) ? rest : `/${rest}`}`;
}

/** Return a query string of the values that are set; "" without any. */
function queryOf(
  values: Record<string, string | number | boolean | readonly string[] | undefined>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== "") query.append(name, String(each));
    }
  }
  return query.size > 0 ? `?${query}` : "";
}

function get<T>(path: string, options?: RequestOptions): Promise<T> {
  return call<T>(path, { signal: options?.signal });
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
  const response = await answerOf(path, init);
  return response.status === 204 ? undefined as T : await response.json() as T;
}

/** Return the response of the service; a failure throws a Problem. */
async function answerOf(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(addressOf(path), {
      ...init,
      headers: { Accept: "application/json", ...init.headers },
      credentials: "same-origin",
    });
  } catch (error) {
    if (init.signal?.aborted) throw error; // aborted by the console, whether or not the service answers
    reachable.value = false;
    throw new Problem({
      status: 0,
      code: "unreachable",
      title: "The service does not answer",
      how: "Your input is kept. Try again when the header shows Connected.",
    });
  }
  reachable.value = true;
  syncClock(response.headers.get("Date"));
  if (response.status === 401 && path !== "/api/session" && session.value?.needed) endSession();
  if (!response.ok) throw await problemOf(response);
  return response;
}
