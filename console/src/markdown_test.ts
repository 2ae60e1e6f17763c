// Markdown: what becomes what, and that hostile text stays text.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { Markdown } from "./markdown.tsx";
import { type Block, blocksOf } from "./markdown/blocks.ts";
import { type Inline, inlinesOf, safeHref } from "./markdown/inlines.ts";

const text = (written: string): Inline => ({ kind: "text", text: written });
const paragraph = (written: string): Block => ({ kind: "paragraph", parts: [text(written)] });

Deno.test("a heading, paragraphs and code are told apart", () => {
  assert.deepEqual(blocksOf("# Paris ##\n\nRain,\nthen sun.\n\n```py\nx = '# 1'\n```\nAfter"), [
    { kind: "heading", level: 1, parts: [text("Paris")] },
    paragraph("Rain,\nthen sun."),
    { kind: "code", language: "py", text: "x = '# 1'" },
    paragraph("After"),
  ]);
});

Deno.test("code that is not closed yet reaches to the end, as it does while an answer is written", () => {
  assert.deepEqual(blocksOf("```\none\n\n- two"), [
    { kind: "code", language: "", text: "one\n\n- two" },
  ]);
});

Deno.test("lists nest, number from where they begin, and go on after blank lines", () => {
  assert.deepEqual(blocksOf("3. a\n   - b\n\n4. c\n\nend"), [
    {
      kind: "list",
      ordered: true,
      start: 3,
      items: [
        [paragraph("a"), { kind: "list", ordered: false, start: 1, items: [[paragraph("b")]] }],
        [paragraph("c")],
      ],
    },
    paragraph("end"),
  ]);
});

Deno.test("a table has alignments, keeps escaped bars and fills what is missing", () => {
  assert.deepEqual(blocksOf("| city | °C |\n|:--|--:|\n| a\\|b | 7 |\n| c |"), [{
    kind: "table",
    align: ["left", "right"],
    head: [[text("city")], [text("°C")]],
    rows: [[[text("a|b")], [text("7")]], [[text("c")], []]],
  }]);
});

Deno.test("a line with a bar above a rule of another width is no table", () => {
  assert.deepEqual(blocksOf("a | b\n---")[0], paragraph("a | b"));
});

Deno.test("emphasis, code and strikes nest as they are written", () => {
  assert.deepEqual(inlinesOf("***a*** `*b*` ~~c~~ 2*3*4 snake_case_name"), [
    { kind: "strong", parts: [{ kind: "emphasis", parts: [text("a")] }] },
    text(" "),
    { kind: "code", text: "*b*" },
    text(" "),
    { kind: "strike", parts: [text("c")] },
    text(" 2"),
    { kind: "emphasis", parts: [text("3")] },
    text("4 snake_case_name"),
  ]);
});

Deno.test("an address ends before the full stop and the bracket round it", () => {
  assert.deepEqual(inlinesOf("(see https://a.example/x_(y)). Next"), [
    text("(see "),
    { kind: "link", href: "https://a.example/x_(y)", parts: [text("https://a.example/x_(y)")] },
    text("). Next"),
  ]);
});

Deno.test("an image is a link to it and never a picture", () => {
  assert.deepEqual(inlinesOf("![track](https://evil.example/p.png?q=secret)"), [
    { kind: "link", href: "https://evil.example/p.png?q=secret", parts: [text("image: track")] },
  ]);
});

Deno.test("a link to anything but http(s) is text that shows where it leads", () => {
  for (
    const address of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "java\tscript:alert(1)",
      "data:text/html,<script>alert(1)</script>",
      "vbscript:x",
      "file:///etc/passwd",
      "//evil.example",
      "/api/runs",
      "blob:https://a.example/1",
    ]
  ) {
    assert.equal(safeHref(address), null, address);
    const parts = inlinesOf(`[click](${address})`);
    assert.ok(parts.every((part) => part.kind === "text"), address);
  }
});

Deno.test("HTML is text", () => {
  assert.deepEqual(blocksOf("<script>alert(1)</script><img src=x onerror=alert(1)>"), [
    paragraph("<script>alert(1)</script><img src=x onerror=alert(1)>"),
  ]);
});

const PIECES = [
  "*",
  "**",
  "_",
  "~~",
  "`",
  "```",
  "[",
  "]",
  "(",
  ")",
  "](",
  "![",
  "<",
  ">",
  "> ",
  "- ",
  "1. ",
  "# ",
  "|",
  "|-|",
  "---",
  "\\",
  "\n",
  "\n\n",
  "  ",
  "\t",
  "https://a.example",
  "javascript:alert(1)",
  "data:text/html;x",
  "<script>",
  "<a href=javascript:x>",
  '" onclick="x',
  "\u202e",
  "\u0000",
  "\ud800",
  "a",
  "é",
  "漢",
  "1",
];

/** A repeatable stream of numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const TAGS = new Set(
  "a blockquote br code div em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul"
    .split(" "),
);
const PROPS = new Set(
  "aria-label children class href key rel role scope start style tabIndex target title".split(" "),
);

/** Fails if a tree holds a tag, a property or an address that Markdown must never give. */
function checkTree(node: unknown): void {
  if (Array.isArray(node)) return node.forEach(checkTree);
  if (!isValidElement(node)) {
    assert.ok(["string", "number", "undefined"].includes(typeof node) || node === null);
    return;
  }
  const { type, props } = node as VNode<Record<string, unknown>>;
  assert.ok(TAGS.has(String(type)), String(type));
  for (const name of Object.keys(props)) assert.ok(PROPS.has(name), name);
  if (type === "a") {
    assert.match(String(props.href), /^https?:\/\//);
    assert.equal(props.rel, "noopener noreferrer nofollow");
  }
  checkTree(props.children);
}

Deno.test("no mixture of marks gives another tag, another property or another kind of address", () => {
  const next = numbers(5);
  for (let round = 0; round < 4000; round += 1) {
    const length = 1 + Math.floor(next() * 24);
    const written = Array.from(
      { length },
      () => PIECES[Math.floor(next() * PIECES.length)]!,
    ).join("");
    checkTree(Markdown({ text: written }));
  }
});

Deno.test("every prefix of an answer can be drawn, as it is while it is written", () => {
  const answer =
    "# A\n\n- **b** [c](https://d.example) `e`\n  1. f\n\n| g | h |\n|---|---|\n| *i* | j |\n\n> k\n\n```\nl\n```";
  for (let end = 0; end <= answer.length; end += 1) {
    checkTree(Markdown({ text: answer.slice(0, end) }));
  }
});

Deno.test("letters that are no marks are kept, each once and in order", () => {
  const next = numbers(11);
  const marks = ["*", "**", "_", "`", "[", "]", "(", "~~", "\n\n", "> ", "- ", "# ", " "];
  for (let round = 0; round < 1500; round += 1) {
    let letter = 0;
    const written = Array.from(
      { length: 20 },
      () =>
        next() < 0.5 ? String.fromCodePoint(0x4e00 + letter++) : marks[Math.floor(next() * 13)]!,
    ).join("");
    if (/`{3}|~{3}/.test(written)) continue; // what follows a fence names a language and is not shown
    const kept = lettersOf(Markdown({ text: written }));
    assert.equal(
      kept,
      String.fromCodePoint(...Array.from({ length: letter }, (_, at) => 0x4e00 + at)),
    );
  }
});

function lettersOf(node: unknown): string {
  if (Array.isArray(node)) return node.map(lettersOf).join("");
  if (isValidElement(node)) {
    return lettersOf((node as VNode<{ children?: unknown }>).props.children);
  }
  return typeof node === "string" ? node.replace(/[^\u4e00-\u9fff]/g, "") : "";
}

// A reader that looked for each mark's end through all that follows would stand still here: `scripts/check-console`
// would not come to its end.
Deno.test("long text that closes nothing is read to its end", () => {
  const many = 10_000;
  const worst = [
    "*a ",
    "**",
    "[",
    "[a](",
    "`",
    "`a``",
    "> ",
    "- ",
    "\n",
    "- \n\n",
    "# ",
    " ",
    "|",
    "\\",
    "<",
    "_a",
    "http://",
    "https://a)",
    "~~",
    "1. ",
    "![",
  ].map((piece) => piece.repeat(many));
  worst.push("# " + " ".repeat(many) + "x", "a|b\n-" + " ".repeat(many) + "x");
  worst.push("```" + " ".repeat(many) + "`", "https://a.example" + ")".repeat(many));
  for (const written of worst) checkTree(Markdown({ text: written }));
});
