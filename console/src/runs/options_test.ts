// Test the options of a flow that a draft gives.

import assert from "node:assert/strict";
import { EMPTY, submissionOf } from "./draft.ts";
import { optionName, optionsOf, parametersOfFlow } from "./options.ts";

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
  const stages = [{ name: " checker ", after: "writer", instructions: "Check." }];
  const draft = { ...EMPTY, request: "Pumps", flow: "report" };
  const { options } = optionsOf({
    ...draft,
    options: { max_revisions: "0", review: "false" },
    stages,
  }, REPORT);
  assert.deepEqual(options, {
    max_revisions: 0,
    review: false,
    agents: [{ name: "checker", after: "writer", instructions: "Check." }],
  });
  assert.deepEqual(submissionOf(draft, options), { request: "Pumps", flow: "report", options });
  assert.deepEqual(submissionOf(draft, optionsOf(draft, REPORT).options), {
    request: "Pumps",
    flow: "report",
  });
});

Deno.test("stages are sent to the report flow only, and an option that is not valid JSON is an error", () => {
  const draft = {
    ...EMPTY,
    flow: "notes",
    options: { agents: "[" },
    stages: [{ name: "checker", after: "writer", instructions: "Check." }],
  };
  const { options, errors } = optionsOf(draft, { ...REPORT, name: "notes" });
  assert.deepEqual(options, {});
  assert.deepEqual(Object.keys(errors), ["agents"]);
});

Deno.test("options have names for people", () => {
  assert.deepEqual(["max_turns", "review", "price_limit"].map(optionName), [
    "Max. turns",
    "Review",
    "Price limit",
  ]);
});
