// Test the request body of a draft, and that one content starts one run.

import assert from "node:assert/strict";
import { wordsOf } from "../form/schema_form.tsx";
import {
  type Draft,
  EMPTY,
  forgetKey,
  idempotencyKey,
  parametersOfFlow,
  submissionOf,
} from "./draft.ts";

const bodyOf = (draft: Partial<Draft>) => submissionOf({ ...EMPTY, ...draft }).run;

Deno.test("only the fields that are set are sent", () => {
  assert.deepEqual(bodyOf({ request: " Weather " }), {
    request: "Weather",
    flow: "work-order",
  });
  assert.deepEqual(
    bodyOf({
      request: "x",
      model: "m",
      limits: { budget: "0.5", max_steps: "2", timeout: "" },
      settings: { approve: '"auto"' },
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
  const run = bodyOf({ request: "x", model: "m", offline: true });
  assert.deepEqual(run, { request: "x", flow: "work-order", offline: true });
});

Deno.test("the same content has the same key until its run has started; other content has another key", () => {
  const run = bodyOf({ request: "x" });
  const key = idempotencyKey(run);
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(idempotencyKey(bodyOf({ request: "x " })), key);
  forgetKey();
  assert.notEqual(idempotencyKey(run), key);
  assert.notEqual(idempotencyKey(bodyOf({ request: "y" })), idempotencyKey(run));
});

const REPORT = {
  name: "report",
  description: "",
  agents: {},
  options: {
    type: "object",
    properties: {
      max_revisions: { type: "integer", default: 1, minimum: 0, maximum: 20 },
      review: { type: "boolean", default: true },
      agents: { type: "array", items: { type: "object" } },
    },
  },
};

Deno.test("a report has fields for its options and a form for its stages", () => {
  assert.deepEqual(parametersOfFlow(REPORT).map(({ name }) => name), ["max_revisions", "review"]);
  const other = { ...REPORT, name: "notes" };
  assert.equal(parametersOfFlow(other).length, 3);
});

Deno.test("only the options that were set are sent, as JSON values", () => {
  const draft: Draft = {
    ...EMPTY,
    request: "Pumps",
    flow: "report",
    options: { max_revisions: "0", review: "false" },
    stages: [{ name: " checker ", after: '"reviewer"', instructions: "Check." }, {
      name: "x",
      instructions: "y",
    }],
  };
  assert.deepEqual(submissionOf(draft, REPORT).run.options, {
    max_revisions: 0,
    review: false,
    agents: [
      { name: "checker", after: "reviewer", instructions: "Check." },
      { name: "x", after: "writer", instructions: "y" },
    ],
  });
  assert.deepEqual(submissionOf({ ...draft, options: {}, stages: [] }, REPORT).run, {
    request: "Pumps",
    flow: "report",
  });
});

Deno.test("stages are sent to the report flow only, and an option that is not valid JSON is an error", () => {
  const draft = {
    ...EMPTY,
    flow: "notes",
    options: { agents: "[" },
    stages: [{ name: "checker", instructions: "Check." }],
  };
  const { run, errors } = submissionOf(draft, { ...REPORT, name: "notes" });
  assert.equal(run.options, undefined);
  assert.deepEqual(Object.keys(errors), ["options.agents"]);
});

Deno.test("options have names for people", () => {
  assert.deepEqual(["max_turns", "review", "price_limit"].map(wordsOf), [
    "Max. turns",
    "Review",
    "Price limit",
  ]);
});
