// Test that the URL of the list of runs becomes the filter and the order of the API.

import assert from "node:assert/strict";
import { RUN_SORTS } from "../wire.ts";
import { filterOf, isNarrowed, ORDERS, tagsIn } from "./filter.ts";

Deno.test("filters and order go from the URL to the API", () => {
  const query = new URLSearchParams({
    search: "harbour",
    tag: "team=data\nenv=prod",
    sort: "cost up",
    max_cost_usd: "2",
  });
  const filter = filterOf(query, 0);
  assert.equal(filter.search, "harbour");
  assert.deepEqual(filter.tag, ["team=data", "env=prod"]);
  assert.deepEqual([filter.sort, filter.ascending, filter.max_cost_usd], ["cost", true, 2]);
  assert.ok(isNarrowed(query));
});

Deno.test("every order is one of the API, and every one of the API is offered", () => {
  const offered = Object.keys(ORDERS).map((order) => order.split(" ")[0] || "created");
  assert.deepEqual([...new Set(offered)].toSorted(), RUN_SORTS.toSorted());
});

Deno.test("an order alone narrows nothing, and a text without an equals sign is ignored", () => {
  assert.equal(isNarrowed(new URLSearchParams({ sort: "cost" })), false);
  assert.deepEqual(tagsIn(new URLSearchParams({ tag: "team" })), []);
  assert.equal(filterOf(new URLSearchParams(), 0).sort, undefined);
});
