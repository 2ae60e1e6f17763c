// Test what Markdown becomes, and that hostile text stays text.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { Markdown } from "./markdown.tsx";
import { isSafe } from "./ui/outer_link.tsx";

/** Return a tree of elements as a short text: `<p>…</p>`, with the properties that matter. */
function written(node: unknown): string {
  if (Array.isArray(node)) return node.map(written).join("");
  if (!isValidElement(node)) return typeof node === "string" ? node : "";
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (typeof type === "function") return written(drawn(type, props));
  const { href, start, style } = props as {
    href?: string;
    start?: number;
    style?: { textAlign: string };
  };
  const told = [
    href && ` href=${href}`,
    start && ` start=${start}`,
    style && ` ${style.textAlign}`,
  ];
  return `<${type}${told.filter(Boolean).join("")}>${written(props.children)}</${type}>`;
}

/** Return what a component without state draws. */
function drawn(component: unknown, props: unknown): unknown {
  return (component as (props: unknown) => unknown)(props);
}

/** Return the elements of a text, without the box around them. */
function elementsOf(text: string): string {
  return written(Markdown({ text })).replace(/^<div>([^]*)<\/div>$/, "$1");
}

Deno.test("headings, paragraphs and code are told apart", () => {
  assert.equal(
    elementsOf("# Paris ##\n\nRain,\nthen sun.\n\n```py\nx = '# 1'\n```\nAfter"),
    "<h3>Paris</h3><p>Rain,\nthen sun.</p><pre><code>x = '# 1'</code></pre><p>After</p>",
  );
});

Deno.test("code that is not closed yet reaches to the end, as it does while an answer is written", () => {
  assert.equal(elementsOf("```\none\n\n- two"), "<pre><code>one\n\n- two</code></pre>");
});

Deno.test("lists nest, keep their first number and continue after blank lines", () => {
  assert.equal(
    elementsOf("3. a\n   - b\n\n4. c\n\nend"),
    "<ol start=3><li><p>a</p><ul><li>b</li></ul></li><li><p>c</p></li></ol><p>end</p>",
  );
});

Deno.test("a table has alignments, keeps escaped bars and fills missing cells", () => {
  assert.equal(
    elementsOf("| city | °C |\n|:--|--:|\n| a\\|b | 7 |\n| c |"),
    "<div><table><thead><tr><th left>city</th><th right>°C</th></tr></thead>" +
      "<tbody><tr><td left>a|b</td><td right>7</td></tr>" +
      "<tr><td left>c</td><td right></td></tr></tbody></table></div>",
  );
});

Deno.test("a line with a bar above a rule of another width is not a table", () => {
  assert.ok(!elementsOf("a | b\n---").includes("<table>"));
});

Deno.test("emphasis, code and strikes nest as they are written", () => {
  assert.equal(
    elementsOf("***a*** `*b*` ~~c~~ 2*3*4 snake_case_name"),
    "<p><em><strong>a</strong></em> <code>*b*</code> <s>c</s> 2<em>3</em>4 snake_case_name</p>",
  );
});

Deno.test("an address ends before the full stop and the bracket around it", () => {
  assert.equal(
    elementsOf("(see https://a.example/x_(y)). Next"),
    "<p>(see <a href=https://a.example/x_(y)>https://a.example/x_(y)</a>). Next</p>",
  );
});

Deno.test("only a written scheme makes an address a link", () => {
  assert.equal(
    elementsOf("write to a@b.example or see evil.example"),
    "<p>write to a@b.example or see evil.example</p>",
  );
  assert.equal(
    elementsOf("[write](mailto:a@b.example)"),
    "<p><a href=mailto:a@b.example>write</a></p>",
  );
});

Deno.test("an image is a link to it and never a picture", () => {
  assert.equal(
    elementsOf("![track](https://evil.example/p.png?q=secret)"),
    "<p><a href=https://evil.example/p.png?q=secret>image: track</a></p>",
  );
});

Deno.test("an image within a link does not nest a link in a link", () => {
  assert.equal(
    elementsOf("[![a](https://b.example/c.png)](https://d.example/)"),
    "<p><a href=https://d.example/>image: a</a></p>",
  );
});

Deno.test("a link to anything but http(s) or mailto is text that shows where it leads", () => {
  for (
    const address of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "java\tscript:alert(1)",
      "data:text/html,<script>alert(1)</script>",
      "data:image/png;base64,AAAA",
      "vbscript:x",
      "file:///etc/passwd",
      "//evil.example",
      "/api/runs",
      "blob:https://a.example/1",
    ]
  ) {
    assert.ok(!isSafe(address), address);
    for (const text of [`[click](${address})`, `<${address}>`, `![click](${address})`]) {
      const leads = [...elementsOf(text).matchAll(/href=([^>]*)/g)].map((found) => found[1]);
      // Only the https address within a blob address is recognized as a link of its own.
      assert.deepEqual(leads, address.startsWith("blob:") ? ["https://a.example/1"] : [], text);
      assert.equal(elementsOf(text).replace(/<\/?(?:a|p)(?: [^>]*)?>/g, ""), text);
    }
  }
});

Deno.test("HTML is text", () => {
  assert.equal(
    elementsOf("<script>alert(1)</script><img src=x onerror=alert(1)>"),
    "<p><script>alert(1)</script><img src=x onerror=alert(1)></p>",
  );
  checkTree(Markdown({ text: "<script>alert(1)</script><img src=x onerror=alert(1)>" }));
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
  if (typeof type === "function") return checkTree(drawn(type, props));
  assert.ok(TAGS.has(String(type)), String(type));
  for (const name of Object.keys(props)) assert.ok(PROPS.has(name), name);
  if (type === "a") {
    assert.match(String(props.href), /^(https?:\/\/|mailto:)/);
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

// A parser that takes the square of a text's length would not finish here within the time of the check.
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
