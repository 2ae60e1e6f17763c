// Test that claims and citations are marked in a text, and that nothing else changes.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { Markdown } from "../../markdown.tsx";
import { sourceNumbers } from "../../report/report_text.tsx";
import type { CitedPassage as Passage } from "../../wire.ts";
import type { RunDocument } from "../../wire.ts";
import { citing } from "./answer.tsx";
import { doubtMarks } from "./beside.tsx";
import { annotation, type Cite, citedIn, type Mark, marked } from "./claims.tsx";

const TAGS = new Set(["h2", "p", "strong", "li", "td", "code"]);
const SOURCES = [1, 2, 3].map((number) => ({
  event_id: `e-${number}`,
  title: `Source ${number}`,
  url: `https://a.example/${number}`,
}));
const LINKS = citing(SOURCES, 2);

/** Return a tree of elements as a short text: claims in braces with their verdict, links as their address. */
function serialize(node: unknown): string {
  if (Array.isArray(node)) return node.map(serialize).join("");
  if (!isValidElement(node)) return node === null || node === undefined ? "" : String(node);
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (typeof type === "function") {
    return serialize((type as unknown as (props: unknown) => unknown)(props));
  }
  const inner = serialize(props.children);
  const name = String(props.class ?? "");
  if (inner && name.startsWith("claim ")) return `{${name.slice(6)}: ${inner}}`;
  if (type === "a" && name === "citation") return `<${props.href}>`;
  return TAGS.has(String(type)) ? `<${type}>${inner}</${type}>` : inner;
}

function mark(text: string, claim: string, verdict: Mark["verdict"] = "confirmed"): Mark {
  const start = [...text.slice(0, text.indexOf(claim))].length;
  return { start, end: start + [...claim].length, verdict, note: `(${verdict})` };
}

function shown(text: string, marks: readonly Mark[] = [], cite: Cite = LINKS): string {
  const annotate = annotation(marks, cite);
  return serialize(Markdown({ text: marked(text, marks), top: 2, annotate }))
    .replaceAll("\u2060", "");
}

Deno.test("each claim is marked with its verdict, and its citations lead to their sources", () => {
  const text = "# Pumps 🔥\n\nIt is **warm** [2]. It costs 4 [1, 3]. Be careful.";
  const marks = [
    mark(text, "It is **warm** [2]."),
    mark(text, "It costs 4 [1, 3].", "contradicted"),
  ];
  assert.equal(
    shown(text, marks),
    "<h2>Pumps 🔥</h2><p>{confirmed: It is <strong>warm</strong> <#source-2>.}(confirmed) " +
      "{contradicted: It costs 4 <#source-1><#sources-title>.}(contradicted) Be careful.</p>",
  );
});

Deno.test("numbers without a source stay text", () => {
  const text = "a[0], [4], [1, 9], list[i]";
  assert.equal(shown(text), `<p>${text}</p>`);
});

Deno.test("emphasis over whole claims stays emphasis", () => {
  const text = "**One [1]. Two.** **“Three”** is four [2].";
  const claims = ["**One [1].", "Two.**", "**“Three”** is four [2]."];
  assert.equal(
    shown(text, claims.map((claim) => mark(text, claim))),
    "<p><strong>One <#source-1>.(confirmed) Two.</strong>(confirmed) " +
      "{confirmed: <strong>“Three”</strong> is four <#source-2>.}(confirmed)</p>",
  );
});

Deno.test("lists, tables and code keep their form", () => {
  const text = "- One [7].\n\n| a | b |\n|---|---|\n| Two | 4 |\n\n`x`\n";
  const claims = ["- One [7].", "| Two | 4 |", "`x`"];
  assert.equal(
    shown(text, claims.map((claim) => mark(text, claim))),
    "<li>{confirmed: One [7].}(confirmed)</li>ab<td>Two</td><td>4(confirmed)</td>" +
      "<p>{confirmed: <code>x</code>}(confirmed)</p>",
  );
});

Deno.test("letters of signs in a text of a model are shown as text", () => {
  const text = "\u2e22\ue000\u2e23 and \u2e24\ue000\u2e23.";
  assert.ok(!shown(text, [{ ...mark(text, text), end: 0 }]).includes("confirmed"));
});

Deno.test("the words of a doubt are marked, or its whole claim; a claim without a place is not", () => {
  const [text, verdict] = ["It is 🔥 warm. It costs 4.", "unconfirmed"];
  const claim = { verdict, start: 0, end: 26, text };
  const doubt = { verdict, why: "", claim: text, quote: null, evidence: null };
  const document = {
    answer: text,
    claims: [{ n: 1, ...claim }, { n: 2, ...claim, start: null, end: null }],
    evidence: {
      doubts: [
        { n: 1, part: "costs 4", ...doubt },
        { n: 1, part: "is cold", ...doubt },
        { n: 2, part: "costs 4", ...doubt },
      ],
    },
  } as unknown as RunDocument;
  assert.deepEqual(doubtMarks(document).map(({ start, end }) => [start, end]), [[0, 26], [17, 24]]);
});

Deno.test("sources are numbered as they are cited, and passages of one source share its number", () => {
  const draft = "A [p2]. B [p1, P3]. C [p9].";
  const passage = (id: string, title: string) => ({ id, title, url: "" }) as Passage;
  const named = new Map([
    ["p1", passage("a", "One")],
    ["p2", passage("b", "Two")],
    ["p3", passage("c", "Two")],
  ]);
  assert.deepEqual(citedIn(draft), ["p2", "p1", "p3", "p9"]);
  assert.deepEqual([...sourceNumbers(draft, named)], [["b", 1], ["a", 2], ["c", 1]]);
});
