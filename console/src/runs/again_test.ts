// Test that a run is started again with the options it had.

import assert from "node:assert/strict";
import { draftOf } from "./again.ts";
import { submissionOf } from "./draft.ts";
import type { FlowDocument } from "../wire.ts";

const LIMITS = {
  max_steps: 3,
  max_workers: 32,
  batch_size: null,
  budget: 1.5,
  max_requests: 20,
  max_tokens: null,
  max_output_tokens: 2000,
  timeout: 1800,
  attempt_timeout: 300,
  model_patience: 300,
  approval_timeout: null,
  max_turns: 8,
  max_repairs: 2,
  max_retries: 2,
};
const FLOW = {
  name: "research",
  options: {
    properties: {
      depth: { type: "integer" },
      style: { enum: ["short", "long"] },
      focus: { type: "string" },
      web: { type: "boolean" },
    },
  },
} as unknown as FlowDocument;
const DEFINITION = {
  flow: "research",
  options: { depth: 2, style: "long", focus: "costs", web: false, hidden: [1] },
  models: { default: "openai:gpt-6", by_use: { work: "ollama:small" }, windows: {} },
  limits: LIMITS,
  offline: false,
  approve: "ask",
  approve_rules: { "pay_*": "never" },
} as const;

Deno.test("the request body is that of the earlier run", () => {
  const draft = draftOf("Heat pumps", DEFINITION as never, [FLOW]);
  const { run, errors } = submissionOf(draft, FLOW);
  assert.deepEqual(errors, {});
  assert.deepEqual(run, {
    request: "Heat pumps",
    flow: "research",
    model: "openai:gpt-6",
    worker_model: "ollama:small",
    approve: { "pay_*": "never", "*": "ask" },
    limits: {
      budget: 1.5,
      max_steps: 3,
      max_workers: 32,
      timeout: 1800,
      max_requests: 20,
      max_output_tokens: 2000,
      attempt_timeout: 300,
      model_patience: 300,
    },
    options: { depth: 2, style: "long", focus: "costs", web: false, hidden: [1] },
  });
});

Deno.test("a model that the service was given as code is not named", () => {
  const custom = { ...DEFINITION, models: { default: "custom", by_use: {}, windows: {} } };
  assert.equal(draftOf("x", custom as never, [FLOW]).model, "");
  const offline = { ...DEFINITION, offline: true };
  const draft = draftOf("x", offline as never, [FLOW]);
  assert.deepEqual([draft.offline, draft.model, draft.settings.worker_model], [
    true,
    "",
    undefined,
  ]);
});
