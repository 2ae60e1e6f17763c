// Test that an edited role or stage changes only the edited fields.

import assert from "node:assert/strict";
import type { AgentDocument } from "../wire.ts";
import { bodyOf, fieldsOf, lengthOf, NEW_STAGE } from "./role_change.ts";

const DEFAULT: AgentDocument = {
  name: "worker",
  flow: "work-order",
  role: "Executes one subtask.",
  model: "offline",
  instructions: "Do it well.",
  ships: { model: "offline", instructions: "Do it well." },
  changed: null,
};
const CHANGED: AgentDocument = {
  ...DEFAULT,
  model: "openai:gpt-5",
  instructions: "Do it slowly.",
  changed: { by: "ann", at: "2026-11-21T17:00:00Z" },
};
const STAGE: AgentDocument = {
  ...DEFAULT,
  name: "report.fact-checker",
  flow: "report",
  ships: { model: "offline", instructions: "" },
  instructions: "Check the dates.",
  added: true,
  off: false,
  after: "writer",
  gives: ["feedback"],
  tools: ["web_search", "web_fetch"],
  max_requests: 3,
};

const changesOf = (agent: AgentDocument, model: string, instructions: string) =>
  bodyOf({ ...fieldsOf(agent), model, instructions }, agent.ships);

Deno.test("an unedited field of a default role stays the default", () => {
  assert.deepEqual(changesOf(DEFAULT, "openai:gpt-5", "Do it well."), { model: "openai:gpt-5" });
  assert.deepEqual(changesOf(DEFAULT, "offline", "Do it fast."), { instructions: "Do it fast." });
});

Deno.test("a field that was changed before stays changed", () => {
  assert.deepEqual(changesOf(CHANGED, "openai:gpt-5", "Do it fast."), {
    model: "openai:gpt-5",
    instructions: "Do it fast.",
  });
});

Deno.test("a field with the default text is not pinned", () => {
  assert.deepEqual(changesOf(CHANGED, "offline", "Do it slowly."), {
    instructions: "Do it slowly.",
  });
});

Deno.test("an empty field is the default", () => {
  assert.deepEqual(changesOf(CHANGED, "  ", "\n"), {});
});

Deno.test("a stage keeps its place, tools and limits when something else is edited", () => {
  const fields = { ...fieldsOf(STAGE), instructions: "Check the names." };
  assert.deepEqual(bodyOf(fields, STAGE.ships, { added: true, off: true }), {
    instructions: "Check the names.",
    off: true,
    after: "writer",
    gives: ["feedback"],
    tools: ["web_search", "web_fetch"],
    max_requests: 3,
  });
});

Deno.test("a built-in stage has no place of its own; its limits are numbers", () => {
  const writer = { ...DEFAULT, name: "report.writer", flow: "report", added: false, off: false };
  const fields = { ...fieldsOf(writer), limits: { budget: "0.5", max_turns: " " } };
  assert.deepEqual(bodyOf(fields, writer.ships, writer), { budget: 0.5 });
});

Deno.test("a new stage follows the writer and gives a verdict", () => {
  const fields = { ...NEW_STAGE, instructions: "Check the dates.", position: "before reviewer" };
  assert.deepEqual(bodyOf(fields, null, { added: true }), {
    instructions: "Check the dates.",
    before: "reviewer",
    gives: ["feedback"],
  });
});

Deno.test("characters are counted as the service counts them", () => {
  assert.equal(lengthOf("a😀é"), 3);
});
