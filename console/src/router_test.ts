// Test paths and queries: the URL is the state.

import assert from "node:assert/strict";
import { isScreen, partsOf, queryChanged } from "./router.ts";

Deno.test("a path is read as its decoded parts; a lone percent sign breaks nothing", () => {
  assert.deepEqual(partsOf("/"), []);
  assert.deepEqual(partsOf("/tools/a%2Fb/"), ["tools", "a/b"]);
  assert.deepEqual(partsOf("/runs/100%"), ["runs", "100%"]);
});

Deno.test("the query changes by name; null and an empty text remove a name", () => {
  const place = { path: "/runs", query: new URLSearchParams("status=failed&q=a") };
  assert.equal(queryChanged(place, { q: "b c", seq: 4 }), "/runs?status=failed&q=b+c&seq=4");
  assert.equal(queryChanged(place, { status: null, q: "" }), "/runs");
  assert.equal(place.query.get("q"), "a");
});

Deno.test("only the console's own paths are screens: the API and its pages are loaded by the browser", () => {
  const screens = ["/", "/runs", "/runs/run_1", "/approvals", "/workers", "/tools/x"];
  assert.ok(screens.every(isScreen));
  assert.ok(!["/openapi.json", "/metrics", "/api/runs", "/runsx"].some(isScreen));
});
