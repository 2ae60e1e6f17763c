// What an edited role asks for: what was changed, and nothing else.

import assert from "node:assert/strict";
import type { AgentDocument } from "../wire.ts";
import { changesOf, lengthOf } from "./role_change.ts";

const SHIPS: AgentDocument = {
  name: "worker",
  role: "Carries one subtask out.",
  model: "offline",
  instructions: "Do it well.",
  ships: { model: "offline", instructions: "Do it well." },
  changed: null,
};
const SET: AgentDocument = {
  ...SHIPS,
  model: "openai:gpt-5",
  instructions: "Do it slowly.",
  changed: { by: "ann", at: "2026-11-21T17:00:00Z" },
};

Deno.test("what nobody touched in a role that ships so stays as it ships", () => {
  assert.deepEqual(changesOf(SHIPS, { model: "openai:gpt-5", instructions: "Do it well." }), {
    model: "openai:gpt-5",
    instructions: null,
  });
  assert.deepEqual(changesOf(SHIPS, { model: "offline", instructions: "Do it fast." }), {
    model: null,
    instructions: "Do it fast.",
  });
});

Deno.test("what was set before stays set beside what is changed", () => {
  assert.deepEqual(changesOf(SET, { model: "openai:gpt-5", instructions: "Do it fast." }), {
    model: "openai:gpt-5",
    instructions: "Do it fast.",
  });
});

Deno.test("what is written as it ships is not nailed down", () => {
  assert.deepEqual(changesOf(SET, { model: "offline", instructions: "Do it slowly." }), {
    model: null,
    instructions: "Do it slowly.",
  });
});

Deno.test("an empty field is as it ships", () => {
  assert.deepEqual(changesOf(SET, { model: "  ", instructions: "\n" }), {
    model: null,
    instructions: null,
  });
});

Deno.test("characters are counted as the service counts them", () => {
  assert.equal(lengthOf("a😀é"), 3);
});
