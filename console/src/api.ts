// Calls of the service, typed by its OpenAPI document; a failure throws a Problem.

import { syncClock } from "./clock.ts";
import { reachable } from "./connection.ts";
import { Problem, problemOf } from "./problem.ts";
import { endSession, session } from "./session.ts";
import type { paths } from "./wire.ts";

export { asProblem, Problem } from "./problem.ts";

type Method = "get" | "post" | "delete";

/** The paths that have a method. */
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never;
}[keyof paths];

type Route<M extends Method, P extends PathOf<M>> = paths[P] extends Record<M, infer R> ? R : never;

/** The parameters of the path and of the query of a route, by name. */
export type ParametersOf<M extends Method, P extends PathOf<M>> = Route<M, P> extends
  { parameters: infer Given } ? Part<Given, "path"> & Part<Given, "query"> : never;

type Part<Given, In extends string> = Given extends { readonly [name in In]?: infer Named } ? Named
  : unknown;

type BodyOf<M extends Method, P extends PathOf<M>> = Route<M, P> extends
  { requestBody: { content: { "application/json": infer Body } } } ? Body : undefined;

type AnswerOf<M extends Method, P extends PathOf<M>> = Route<M, P> extends
  { responses: infer Answers }
  ? Answers[keyof Answers] extends { content: { "application/json": infer Answer } } ? Answer : void
  : never;

interface RequestOptions {
  readonly signal?: AbortSignal;
  /** The same key twice does the same thing once, even if the first response was lost. */
  readonly idempotencyKey?: string;
}

export function get<P extends PathOf<"get">>(
  path: P,
  parameters: ParametersOf<"get", P>,
  options: RequestOptions = {},
): Promise<AnswerOf<"get", P>> {
  return call("get", path, parameters, undefined, options);
}

export function post<P extends PathOf<"post">>(
  path: P,
  parameters: ParametersOf<"post", P>,
  body: BodyOf<"post", P>,
  options: RequestOptions = {},
): Promise<AnswerOf<"post", P>> {
  return call("post", path, parameters, body, options);
}

export async function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  parameters: ParametersOf<M, P>,
  body?: BodyOf<M, P>,
  { signal, idempotencyKey }: RequestOptions = {},
): Promise<AnswerOf<M, P>> {
  const response = await responseOf(pathOf(path, parameters as Values), {
    method: method.toUpperCase(),
    signal,
    headers: {
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return (response.status === 204 ? undefined : await response.json()) as AnswerOf<M, P>;
}

type Values = { readonly [name: string]: unknown };

/** Return the path of a route; parameters that are not part of it are its query, without those that are not set. */
function pathOf(route: string, parameters: Values): string {
  const query = new URLSearchParams();
  let path = route;
  for (const [name, value] of Object.entries(parameters)) {
    const within = path.replace(`{${name}}`, () => encodeURIComponent(String(value)));
    if (within === path) {
      for (const each of [value].flat()) {
        if (each !== undefined && each !== null && each !== "") query.append(name, String(each));
      }
    }
    path = within;
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Return the path of a run as a file. */
export function exportPath(run_id: string, format: "jsonl" | "html"): string {
  return pathOf("/api/runs/{run_id}/export", { run_id, format });
}

/** Return the path under which a version of an artifact is downloaded. */
export function artifactPath(runId: string, path: string, version: number): string {
  const parts = path.split("/").map(encodeURIComponent).join("/");
  return pathOf(`/api/runs/{run_id}/artifacts/${parts}`, { run_id: runId, version });
}

/** Return the text of a version of an artifact. */
export async function getArtifact(
  runId: string,
  path: string,
  version: number,
  { signal }: RequestOptions,
): Promise<string> {
  const headers = { Accept: "application/octet-stream" };
  return await (await responseOf(artifactPath(runId, path, version), { signal, headers })).text();
}

/** Return the response of the service; a failure throws a Problem. */
async function responseOf(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
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
