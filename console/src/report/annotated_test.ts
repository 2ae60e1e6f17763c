// Test that sentences and citations are found in a draft.

import assert from "node:assert/strict";
import {
  marked,
  partsOfText,
  passageIds,
  problemWords,
  sourceNumbers,
  unmarked,
} from "./annotated.ts";
import type { Statement } from "./task.ts";

const statement = (index: number, text: string, ...passages: string[]): Statement => ({
  index,
  text,
  status: passages.length ? "supported" : "own_reasoning",
  passages,
  problems: [],
});
const passage = (id: string, title: string) => ({
  id,
  title,
  text: "",
  url: "",
  source: "",
  published: "",
  link: "",
});

Deno.test("each sentence is enclosed by marks, and nothing else changes", () => {
  const draft = "# Pumps\n\nIt is **warm** [p2]. It is **warm** [p1, p2].\n\n- Cold.\n";
  const statements = [
    statement(0, "Pumps"),
    statement(1, "It is **warm** [p2].", "b"),
    statement(2, "It is **warm** [p1, p2].", "a", "b"),
    statement(3, "Cold."),
  ];
  const text = marked(draft, statements);
  assert.equal(unmarked(text), draft);
  assert.ok(text.startsWith("# Pumps\n\n"));
  const [, , line = ""] = text.split("\n");
  assert.deepEqual(partsOfText(line).map((part) => part.kind === "text" ? part.text : part), [
    { kind: "begin", index: 1 },
    "It is **warm** ",
    { kind: "citation", names: ["p2"], text: "[p2]" },
    ".",
    { kind: "end", index: 1 },
    " ",
    { kind: "begin", index: 2 },
    "It is **warm** ",
    { kind: "citation", names: ["p1", "p2"], text: "[p1, p2]" },
    ".",
    { kind: "end", index: 2 },
  ]);
});

Deno.test("the marks of a table's row stay inside its cells", () => {
  const draft = "| a | b |\n|---|---|\n| Oslo | 4 [p1] |\n";
  const text = marked(draft, [statement(0, "| Oslo | 4 [p1] |", "a")]);
  const row = text.split("\n")[2]!;
  assert.ok(row.startsWith("| ") && row.endsWith(" |"));
  assert.equal(unmarked(text), draft);
});

Deno.test("a sentence that is not in the draft is left out", () => {
  assert.equal(marked("One.", [statement(0, "Two.")]), "One.");
});

Deno.test("sources are numbered as they are cited, and passages of one source share its number", () => {
  const draft = "A [p2]. B [p1, p3]. C [p9].";
  const statements = [
    statement(0, "A [p2].", "b"),
    statement(1, "B [p1, p3].", "a", "c"),
    statement(2, "C [p9].", "p9"),
  ];
  const ids = passageIds(statements);
  assert.deepEqual([...ids], [["p2", "b"], ["p1", "a"], ["p3", "c"], ["p9", "p9"]]);
  const passages = { a: passage("a", "One"), b: passage("b", "Two"), c: passage("c", "Two") };
  assert.deepEqual([...sourceNumbers(draft, ids, passages)], [["b", 1], ["a", 2], ["c", 1]]);
});

Deno.test("a problem names passages in words", () => {
  assert.equal(
    problemWords("15: not in [p1] (see [p2])"),
    "15: not in passage p1 (see passage p2)",
  );
});
