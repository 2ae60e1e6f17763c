// The filter and the order of the list of runs, as the URL has them.

import type { ParametersOf } from "../api.ts";
import type { RunSort, RunStatus } from "../wire.ts";
import { startOf } from "./listing.ts";

/** The names in the URL that narrow the list; the values are those of the API, except for `since`. */
export const NARROWING = [
  "status",
  "flow",
  "search",
  "since",
  "tag",
  "min_cost_usd",
  "max_cost_usd",
  "min_duration_s",
  "max_duration_s",
  "asking",
] as const;

/** Orders of the list: what it is sorted by, and in which direction. */
export const ORDERS: { readonly [order: string]: string } = {
  "": "Newest first",
  "created up": "Oldest first",
  cost: "Highest cost first",
  "cost up": "Lowest cost first",
  duration: "Longest first",
  "duration up": "Shortest first",
  "status up": "By status",
  "flow up": "By flow",
};

export function isNarrowed(query: URLSearchParams): boolean {
  return NARROWING.some((name) => query.get(name));
}

/** Return the tags that the list is narrowed to, as KEY=VALUE; the URL has one per line. */
export function tagsIn(query: URLSearchParams): readonly string[] {
  return query.get("tag")?.split("\n").filter((tag) => tag.includes("=")) ?? [];
}

/** Return the filter for the API; `now` is the time on the server. */
export function filterOf(query: URLSearchParams, now: number): ParametersOf<"get", "/api/runs"> {
  const [sort = "", up] = (query.get("sort") ?? "").split(" ");
  const given = (name: string) => query.get(name) ?? "";
  const number = (name: string) => query.get(name) ? Number(query.get(name)) : undefined;
  return {
    status: given("status") as RunStatus,
    flow: given("flow"),
    search: given("search"),
    since: startOf(given("since"), now),
    tag: tagsIn(query),
    min_cost_usd: number("min_cost_usd"),
    max_cost_usd: number("max_cost_usd"),
    min_duration_s: number("min_duration_s"),
    max_duration_s: number("max_duration_s"),
    ...(query.has("asking") && { asking: true }),
    ...(sort && { sort: sort as RunSort }),
    ...(up && { ascending: true }),
  };
}
