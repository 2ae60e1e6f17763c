// Keys: the newest screen answers first, chords are two keys in a row, and typing is left alone.

import assert from "node:assert/strict";
import { keyName, type Keys, startsChord, taken } from "./keys.ts";

const acted: string[] = [];
const key = (name: string) => ({ does: name, act: () => acted.push(name) });
const everywhere: Keys = { "g r": key("runs"), "g a": key("approvals"), "?": key("help") };
const screen: Keys = { j: key("next"), "?": key("the screen's own help") };

Deno.test("the newest offer of a key is taken", () => {
  acted.length = 0;
  assert.ok(taken([screen, everywhere], "?", {} as KeyboardEvent));
  assert.ok(taken([screen, everywhere], "g a", {} as KeyboardEvent));
  assert.ok(!taken([screen, everywhere], "x", {} as KeyboardEvent));
  assert.deepEqual(acted, ["the screen's own help", "approvals"]);
});

Deno.test("the first key of a chord waits for the second, for a while", () => {
  assert.ok(startsChord([screen, everywhere], "g"));
  assert.ok(!startsChord([screen, everywhere], "j"));
  assert.equal(keyName("r", { key: "g", at: 1000 }, 1500), "g r");
  assert.equal(keyName("r", { key: "g", at: 1000 }, 9000), "r");
  assert.equal(keyName("r", null, 1500), "r");
});
