// What no source of the console may hold: a way past Preact to HTML, or to code made at run time.

import assert from "node:assert/strict";

const FORBIDDEN = new RegExp(
  ["innerHTML", "outerHTML", "insertAdjacentHTML", "document\\.write", "srcdoc", "eval\\("]
    .concat(["new Function", "DOMParser", "createContextualFragment", "setHTML"]).join("|"),
);

function* sources(folder: URL): Generator<URL> {
  for (const entry of Deno.readDirSync(folder)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), folder);
    if (entry.isDirectory) yield* sources(url);
    else if (/\.tsx?$/.test(entry.name) && !entry.name.includes("_test.")) yield url;
  }
}

Deno.test("no source turns text into HTML or code", () => {
  const all = [...sources(new URL("./", import.meta.url))];
  assert.ok(all.length > 30);
  const bad = all.filter((url) => FORBIDDEN.test(Deno.readTextFileSync(url)));
  assert.deepEqual(bad.map((url) => url.pathname), []);
});

Deno.test("the page has no script, style or handler of its own, as its security policy demands", () => {
  const page = Deno.readTextFileSync(new URL("../index.html", import.meta.url));
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
  assert.doesNotMatch(page, /(?:src|href)="https?:/i);
});
