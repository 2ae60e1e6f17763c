// Test that an edited role changes only the edited fields.

import assert from "node:assert/strict";
import type { AgentDocument } from "../wire.ts";
import { changesOf, lengthOf } from "./role_change.ts";

const DEFAULT: AgentDocument = {
  name: "worker",
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

Deno.test("an unedited field of a default role stays the default", () => {
  assert.deepEqual(changesOf(DEFAULT, { model: "openai:gpt-5", instructions: "Do it well." }), {
    model: "openai:gpt-5",
    instructions: null,
  });
  assert.deepEqual(changesOf(DEFAULT, { model: "offline", instructions: "Do it fast." }), {
    model: null,
    instructions: "Do it fast.",
  });
});

Deno.test("a field that was changed before stays changed", () => {
  assert.deepEqual(changesOf(CHANGED, { model: "openai:gpt-5", instructions: "Do it fast." }), {
    model: "openai:gpt-5",
    instructions: "Do it fast.",
  });
});

Deno.test("a field with the default text is not pinned", () => {
  assert.deepEqual(changesOf(CHANGED, { model: "offline", instructions: "Do it slowly." }), {
    model: null,
    instructions: "Do it slowly.",
  });
});

Deno.test("an empty field is the default", () => {
  assert.deepEqual(changesOf(CHANGED, { model: "  ", instructions: "\n" }), {
    model: null,
    instructions: null,
  });
});

Deno.test("characters are counted as the service counts them", () => {
  assert.equal(lengthOf("a😀é"), 3);
});
