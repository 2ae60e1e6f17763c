// The filter and the order of the list of runs, as the URL has them.

import type { RunFilter } from "../api.ts";
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
export function filterOf(query: URLSearchParams, now: number): RunFilter {
  const [sort = "", up] = (query.get("sort") ?? "").split(" ");
  const given = (name: string) => query.get(name) ?? "";
  return {
    status: given("status"),
    flow: given("flow"),
    search: given("search"),
    since: startOf(given("since"), now),
    tag: tagsIn(query),
    min_cost_usd: given("min_cost_usd"),
    max_cost_usd: given("max_cost_usd"),
    min_duration_s: given("min_duration_s"),
    max_duration_s: given("max_duration_s"),
    ...(query.has("asking") && { asking: true }),
    ...(sort && { sort }),
    ...(up && { ascending: true }),
  };
}
