// Test the citations of an answer.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { citing } from "./answer.tsx";

const SOURCES = [1, 2, 3].map((number) => ({
  event_id: `e-${number}`,
  title: `Source ${number}`,
  url: `https://a.example/${number}`,
}));

function shown(text: string, listed = 3): string {
  return citing(SOURCES, listed).text(text).map((part) =>
    isValidElement(part) ? `<${(part as VNode<{ href: string }>).props.href}>` : part
  ).join("");
}

Deno.test("citations lead to their sources", () => {
  assert.equal(shown("Paris [1], Rome [2, 3]."), "Paris <#source-1>, Rome <#source-2><#source-3>.");
});

Deno.test("numbers without a source stay text", () => {
  assert.equal(shown("a[0], [4], [1, 9], list[i]"), "a[0], [4], [1, 9], list[i]");
});

Deno.test("a citation of a source that is not listed yet leads to the list", () => {
  assert.equal(shown("[3]", 2), "<#sources-title>");
});
