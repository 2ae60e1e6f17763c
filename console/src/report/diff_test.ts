// Test what a revision is shown to have changed.

import assert from "node:assert/strict";
import { changedRows, type Piece } from "./diff.ts";

const written = (pieces: readonly Piece[]) =>
  pieces.map(({ text, changed }) => changed ? `{${text}}` : text).join("");

Deno.test("paragraphs stand side by side with the words that changed", () => {
  const rows = changedRows(
    "# Pumps\n\nIt costs 4,000 euros [p1].\n\nGone.\n\nEnd.",
    "# Pumps\n\nIt costs 5,000 euros [p2].\n\nEnd.\n\nNew.",
  );
  assert.deepEqual(rows.map(({ before, after }) => [written(before), written(after)]), [
    ["# Pumps", "# Pumps"],
    ["It costs {4,000} euros {[p1].}", "It costs {5,000} euros {[p2].}"],
    ["{Gone.}", ""],
    ["End.", "End."],
    ["", "{New.}"],
  ]);
  assert.deepEqual(rows.map(({ changed }) => changed), [false, true, true, false, true]);
});

Deno.test("both sides together are the texts, whatever changed", () => {
  const [one, other] = ["a b  c\nd", "b x c\n\nd e"];
  const rows = changedRows(one, other);
  const text = (side: "before" | "after") =>
    rows.map((row) => row[side].map((piece) => piece.text).join("")).filter(Boolean).join("\n\n");
  assert.equal(text("before"), one);
  assert.equal(text("after"), other);
  assert.deepEqual(changedRows("", ""), []);
});

Deno.test("a long text that was rewritten is compared in no time", () => {
  const words = (letter: string) =>
    Array.from({ length: 5_000 }, (_, at) => `${letter}${at}`).join(" ");
  assert.deepEqual(changedRows(words("a"), words("b")).length, 1);
});
