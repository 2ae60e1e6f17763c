// Test keyboard shortcuts: the newest screen comes first, and a chord is two keys in a row.

import assert from "node:assert/strict";
import { keyName, runShortcut, type Shortcuts, startsChord } from "./keys.ts";

const ran: string[] = [];
const shortcut = (name: string) => ({ label: name, action: () => ran.push(name) });
const everywhere: Shortcuts = {
  "g r": shortcut("runs"),
  "g a": shortcut("approvals"),
  "?": shortcut("help"),
};
const screen: Shortcuts = { j: shortcut("next"), "?": shortcut("the screen's own help") };

Deno.test("the shortcut of the newest layer runs", () => {
  ran.length = 0;
  assert.ok(runShortcut([screen, everywhere], "?", {} as KeyboardEvent));
  assert.ok(runShortcut([screen, everywhere], "g a", {} as KeyboardEvent));
  assert.ok(!runShortcut([screen, everywhere], "x", {} as KeyboardEvent));
  assert.deepEqual(ran, ["the screen's own help", "approvals"]);
});

Deno.test("the first key of a chord waits a moment for the second", () => {
  assert.ok(startsChord([screen, everywhere], "g"));
  assert.ok(!startsChord([screen, everywhere], "j"));
  assert.equal(keyName("r", { key: "g", at: 1000 }, 1500), "g r");
  assert.equal(keyName("r", { key: "g", at: 1000 }, 9000), "r");
  assert.equal(keyName("r", null, 1500), "r");
});
