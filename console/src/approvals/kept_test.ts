// Test the places of approvals on the screen, and the titles of calls.

import assert from "node:assert/strict";
import type { ApprovalCard } from "../wire.ts";
import { kept, titleOf } from "./kept.ts";

const card = (id: string, minute: number) =>
  ({ approval_id: id, asked_at: `2026-11-21T12:0${minute}:00Z` }) as ApprovalCard;
const [first, second, third] = [card("first", 1), card("second", 2), card("third", 3)];
const shown = (all: ReturnType<typeof kept>) =>
  all.map(({ card, open }) => `${card.approval_id} ${open}`);

Deno.test("the oldest approval comes first", () => {
  assert.deepEqual(shown(kept([], [third, first, second])), [
    "first true",
    "second true",
    "third true",
  ]);
});

Deno.test("a new approval moves none, and an answered one keeps its place", () => {
  const before = kept([], [second, third]);
  const after = kept(before, [first, third]);
  assert.deepEqual(shown(after), ["second false", "third true", "first true"]);
});

Deno.test("nothing is kept once no approval is open", () => {
  assert.deepEqual(kept(kept([], [first]), []), []);
});

Deno.test("the title of a call has its short arguments, with hidden characters visible", () => {
  const args = { to: "Ann\u202e", amount: 48.5, body: "Dear\nAnn", tags: ["a"], note: "" };
  assert.equal(titleOf(args), ": to Ann\\u{202e}, amount 48.5");
  assert.equal(titleOf({ to: "a".repeat(50) }), `: to ${"a".repeat(39)}…`);
  assert.equal(titleOf({}), "");
});
