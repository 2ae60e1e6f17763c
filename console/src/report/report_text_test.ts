// Test how a draft is rendered with the support of its sentences and its citations.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { Markdown } from "../markdown.tsx";
import { marked, passageIds, sourceNumbers } from "./annotated.ts";
import { annotation } from "./report_text.tsx";
import type { Passage, Statement, Support } from "./task.ts";

const TAGS = new Set(["h2", "p", "strong", "li", "td", "button", "code"]);

/** Return a tree of elements as a short text, with the class of each sentence. */
function serialize(node: unknown): string {
  if (Array.isArray(node)) return node.map(serialize).join("");
  if (!isValidElement(node)) return node === null || node === undefined ? "" : String(node);
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (typeof type === "function") {
    return serialize((type as unknown as (props: unknown) => unknown)(props));
  }
  const inner = serialize(props.children);
  const name = String(props.class ?? "");
  if (type === "span" && name.startsWith("sentence")) return `{${name.slice(9)}: ${inner}}`;
  if (props.role === "img") return `(${props["aria-label"]})`;
  return TAGS.has(String(type)) ? `<${type}>${inner}</${type}>` : inner;
}

const PASSAGES: { [id: string]: Passage } = Object.fromEntries(
  ["a", "b"].map((
    id,
  ) => [id, { id, text: "", title: id, url: "", source: "", published: "", link: "" }]),
);

function shown(draft: string, ...given: [string, Support, ...string[]][]): string {
  const statements: Statement[] = given.map(([text, status, ...passages], index) => ({
    index,
    text,
    status,
    passages,
    problems: [],
  }));
  const ids = passageIds(statements);
  const annotate = annotation({
    byIndex: new Map(statements.map((each) => [each.index, each])),
    ids,
    numbers: sourceNumbers(draft, ids, PASSAGES),
    passages: PASSAGES,
    show: () => {},
  });
  return serialize(Markdown({ text: marked(draft, statements), top: 2, annotate }))
    .replaceAll("\u2060", "");
}

Deno.test("each sentence has its status, and its citations are buttons with the numbers of sources", () => {
  assert.equal(
    shown(
      "# Pumps\n\nIt is **warm** [p2]. It costs 4 [p1, p9]. Be careful.",
      ["Pumps", "own_reasoning"],
      ["It is **warm** [p2].", "supported", "b"],
      ["It costs 4 [p1, p9].", "unsupported", "a", "p9"],
      ["Be careful.", "own_reasoning"],
    ),
    "<h2>Pumps</h2><p>{supported: It is <strong>warm</strong> <button>[1]</button>.(Supported)} " +
      "{unsupported: It costs 4 <button>[2]</button>.<button>▲</button>} " +
      "{own_reasoning: Be careful.(Own reasoning)}</p>",
  );
});

Deno.test("emphasis over whole sentences and beside quotation marks stays emphasis", () => {
  assert.equal(
    shown(
      "**One [p1]. Two.** **“Three”** is four [p2].",
      ["**One [p1].", "supported", "a"],
      ["Two.**", "own_reasoning"],
      ["**“Three”** is four [p2].", "supported", "b"],
    ),
    "<p><strong>One <button>[1]</button>.(Supported) Two.</strong>(Own reasoning) " +
      "{supported: <strong>“Three”</strong> is four <button>[2]</button>.(Supported)}</p>",
  );
});

Deno.test("lists, tables and code keep their form; a citation that was invented stays text", () => {
  assert.equal(
    shown(
      "- One [p7].\n\n| a |\n|---|\n| Two [p1] |\n\n`x`\n",
      ["One [p7].", "unsupported", "p7"],
      ["| Two [p1] |", "supported", "a"],
      ["`x`", "own_reasoning"],
    ),
    "<li>{unsupported: One [p7].<button>▲</button>}</li>a" +
      "<td>{supported: Two <button>[1]</button>(Supported)}</td><p>{own_reasoning: <code>x</code>(Own reasoning)}</p>",
  );
});

Deno.test("letters of marks in a text of a model are shown as text", () => {
  const text = "\u2e22\ue000\u2e23 and \u2e24\ue000\u2e23.";
  assert.ok(!shown(text, ["No such sentence.", "supported"]).includes("Supported"));
});
