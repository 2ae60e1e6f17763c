// Test the elements that Markdown becomes, and that hostile text stays text.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { Markdown } from "./markdown.tsx";
import { seededRandom } from "./seeded_random_test.ts";
import { Copy } from "./ui/copy.tsx";
import { isSafe } from "./ui/outer_link.tsx";

/** Return a tree of elements as a short text: `<p>…</p>`, with the properties that matter. */
function serialize(node: unknown): string {
  if (Array.isArray(node)) return node.map(serialize).join("");
  if (!isValidElement(node)) return typeof node === "string" ? node : "";
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (type as unknown === Copy) return "<copy>";
  if (typeof type === "function") return serialize(rendered(type, props));
  const { href, start, style } = props as {
    href?: string;
    start?: number;
    style?: { textAlign: string };
  };
  const attributes = [
    href && ` href=${href}`,
    start && ` start=${start}`,
    style && ` ${style.textAlign}`,
  ];
  return `<${type}${attributes.filter(Boolean).join("")}>${serialize(props.children)}</${type}>`;
}

/** Return the tree that a component without state renders. */
function rendered(component: unknown, props: unknown): unknown {
  return (component as (props: unknown) => unknown)(props);
}

/** Return the elements of a text, without the element around them. */
function elementsOf(text: string): string {
  return serialize(Markdown({ text })).replace(/^<div>([^]*)<\/div>$/, "$1");
}

Deno.test("headings, paragraphs and code become elements", () => {
  assert.equal(
    elementsOf("# Paris ##\n\nRain,\nthen sun.\n\n```py\nx = '# 1'\n```\nAfter"),
    "<h3>Paris</h3><p>Rain,\nthen sun.</p><div><pre><code>x = '# 1'</code></pre><copy></div><p>After</p>",
  );
});

Deno.test("unclosed code extends to the end, as in an answer that is still being written", () => {
  assert.equal(
    elementsOf("```\none\n\n- two"),
    "<div><pre><code>one\n\n- two</code></pre><copy></div>",
  );
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

Deno.test("emphasis, code and strikethrough nest", () => {
  assert.equal(
    elementsOf("***a*** `*b*` ~~c~~ 2*3*4 snake_case_name"),
    "<p><em><strong>a</strong></em> <code>*b*</code> <s>c</s> 2<em>3</em>4 snake_case_name</p>",
  );
});

Deno.test("an address ends before a full stop or a closing bracket", () => {
  assert.equal(
    elementsOf("(see https://a.example/x_(y)). Next"),
    "<p>(see <a href=https://a.example/x_(y)>https://a.example/x_(y)</a>). Next</p>",
  );
});

Deno.test("an address without a scheme is not a link", () => {
  assert.equal(
    elementsOf("write to a@b.example or see evil.example"),
    "<p>write to a@b.example or see evil.example</p>",
  );
  assert.equal(
    elementsOf("[write](mailto:a@b.example)"),
    "<p><a href=mailto:a@b.example>write</a></p>",
  );
});

Deno.test("an image becomes a link, never a picture", () => {
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

Deno.test("a link to anything but http(s) or mailto is text that shows its address", () => {
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

Deno.test("tasks have boxes, and text elsewhere keeps its brackets", () => {
  assert.equal(
    elementsOf("- [x] done\n- [ ] open\n- a [x] b\n\n[x] c"),
    "<ul><li>☑ done</li><li>☐ open</li><li>a [x] b</li></ul><p>[x] c</p>",
  );
});

Deno.test("each block has the direction of its own text", () => {
  const directed = (node: unknown): string[] => {
    if (Array.isArray(node)) return node.flatMap(directed);
    if (!isValidElement(node)) return [];
    const { type, props } = node as VNode<{ dir?: string; children?: unknown }>;
    return [...(props.dir === "auto" ? [String(type)] : []), ...directed(props.children)];
  };
  const text = "# a\n\nb\n\n1. c\n\n| d |\n|---|\n| e |";
  assert.deepEqual(directed(Markdown({ text })), ["h3", "p", "ol", "li", "th", "td"]);
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

const TAGS = new Set(
  "a blockquote br code div em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul"
    .split(" "),
);
const PROPS = new Set(
  "aria-label children class dir href key rel role scope start style tabIndex target title".split(
    " ",
  ),
);

/** Fail if a tree holds a tag, a property or an address that Markdown must never make. */
function checkTree(node: unknown): void {
  if (Array.isArray(node)) return node.forEach(checkTree);
  if (!isValidElement(node)) {
    assert.ok(["string", "number", "undefined"].includes(typeof node) || node === null);
    return;
  }
  const { type, props } = node as VNode<Record<string, unknown>>;
  if (type as unknown === Copy) return assert.equal(typeof props.text, "string");
  if (typeof type === "function") return checkTree(rendered(type, props));
  assert.ok(TAGS.has(String(type)), String(type));
  for (const name of Object.keys(props)) assert.ok(PROPS.has(name), name);
  if (type === "a") {
    assert.match(String(props.href), /^(https?:\/\/|mailto:)/);
    assert.equal(props.rel, "noopener noreferrer nofollow");
  }
  checkTree(props.children);
}

Deno.test("no combination of marks makes another tag, property or kind of address", () => {
  const random = seededRandom(5);
  for (let round = 0; round < 4000; round += 1) {
    const length = 1 + Math.floor(random() * 24);
    const text = Array.from(
      { length },
      () => PIECES[Math.floor(random() * PIECES.length)]!,
    ).join("");
    checkTree(Markdown({ text }));
  }
});

Deno.test("every prefix of an answer can be rendered, as it is while it is written", () => {
  const answer =
    "# A\n\n- **b** [c](https://d.example) `e`\n  1. f\n\n| g | h |\n|---|---|\n| *i* | j |\n\n> k\n\n```\nl\n```";
  for (let end = 0; end <= answer.length; end += 1) {
    checkTree(Markdown({ text: answer.slice(0, end) }));
  }
});

Deno.test("other letters are kept, each once and in order", () => {
  const random = seededRandom(11);
  const marks = ["*", "**", "_", "`", "[", "]", "(", "~~", "\n\n", "> ", "- ", "# ", " "];
  for (let round = 0; round < 1500; round += 1) {
    let letter = 0;
    const text = Array.from(
      { length: 20 },
      () =>
        random() < 0.5
          ? String.fromCodePoint(0x4e00 + letter++)
          : marks[Math.floor(random() * 13)]!,
    ).join("");
    if (/`{3}|~{3}/.test(text)) continue; // what follows a fence names a language and is not shown
    const kept = lettersOf(Markdown({ text }));
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

// A parser in quadratic time would not finish here.
Deno.test("long text with unclosed marks is parsed in linear time", () => {
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
  for (const text of worst) checkTree(Markdown({ text }));
});
