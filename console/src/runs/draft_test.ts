// Test the request body of a draft, and that one content starts one run.

import assert from "node:assert/strict";
import { EMPTY, forgetKey, idempotencyKey, submissionOf } from "./draft.ts";

Deno.test("only the fields that are set are sent", () => {
  assert.deepEqual(submissionOf({ ...EMPTY, request: " Weather " }), {
    request: "Weather",
    flow: "work-order",
  });
  assert.deepEqual(
    submissionOf({
      ...EMPTY,
      request: "x",
      model: "m",
      budget: "0.5",
      maxSteps: "2",
      approve: "auto",
    }),
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
  const run = submissionOf({ ...EMPTY, request: "x", model: "m", offline: true });
  assert.deepEqual(run, { request: "x", flow: "work-order", offline: true });
});

Deno.test("the same content has the same key until its run has started; other content has another key", () => {
  const run = submissionOf({ ...EMPTY, request: "x" });
  const key = idempotencyKey(run);
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(idempotencyKey(submissionOf({ ...EMPTY, request: "x " })), key);
  forgetKey();
  assert.notEqual(idempotencyKey(run), key);
  assert.notEqual(idempotencyKey(submissionOf({ ...EMPTY, request: "y" })), idempotencyKey(run));
});
