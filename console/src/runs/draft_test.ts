// A draft becomes what is sent, and one content makes one run.

import assert from "node:assert/strict";
import { EMPTY, keyOf, newRunOf, spent } from "./draft.ts";

Deno.test("only what was given is sent", () => {
  assert.deepEqual(newRunOf({ ...EMPTY, request: " Weather " }), {
    request: "Weather",
    flow: "work-order",
  });
  assert.deepEqual(
    newRunOf({ ...EMPTY, request: "x", model: "m", budget: "0.5", maxSteps: "2", approve: "auto" }),
    {
      request: "x",
      flow: "work-order",
      model: "m",
      approve: "auto",
      limits: { budget: 0.5, max_steps: 2 },
    },
  );
});

Deno.test("offline leaves the model out", () => {
  const run = newRunOf({ ...EMPTY, request: "x", model: "m", offline: true });
  assert.deepEqual(run, { request: "x", flow: "work-order", offline: true });
});

Deno.test("the same content has the same key until it has started; another content has another", () => {
  const run = newRunOf({ ...EMPTY, request: "x" });
  const key = keyOf(run);
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(keyOf(newRunOf({ ...EMPTY, request: "x " })), key);
  spent();
  assert.notEqual(keyOf(run), key);
  assert.notEqual(keyOf(newRunOf({ ...EMPTY, request: "y" })), keyOf(run));
});
