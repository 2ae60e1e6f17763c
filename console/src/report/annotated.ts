// A draft as Markdown in which marks enclose each sentence, and the numbers of the sources that it cites.

import type { Passage, Statement } from "./task.ts";

/** A citation, such as [p3] or [p3, p7]. */
const CITATION = /\[\s*\^?(p\d+(?:\s*[,;]\s*p\d+)*)\s*\](?!\()/gi;
/** Brackets of a mark, which Markdown reads as punctuation: emphasis beside them stays emphasis. */
const [BEGIN, END, CLOSE] = ["\u2e22", "\u2e24", "\u2e23"];
const PRIVATE = 0xe000;
const MOST = 0xf8ff - PRIVATE;
const MARK = /([\u2e22\u2e24])([\ue000-\uf8ff])\u2e23/;
const MARKS = new RegExp(MARK, "g");
const PART = new RegExp(`${MARK.source}|${CITATION.source}`, "gi");

/** A part of a text. `index` is that of a statement, `names` are those of cited passages. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "begin" | "end"; readonly index: number }
  | { readonly kind: "citation"; readonly names: readonly string[]; readonly text: string };

interface Placed {
  readonly statement: Statement;
  /** Where it begins in the draft. */
  readonly place: number;
}

/** Return the sentences of a draft that are found in it, in order; headings are left out, as they state nothing. */
export function sentencesIn(draft: string, statements: readonly Statement[]): Placed[] {
  const found: Placed[] = [];
  let at = 0;
  for (const statement of statements) {
    const place = draft.indexOf(statement.text, at);
    if (place < 0) continue;
    at = place + statement.text.length;
    if (statement.index <= MOST && !isHeading(draft, place)) found.push({ statement, place });
  }
  return found;
}

/** Return a draft with a mark before and after each of its sentences. */
export function marked(draft: string, statements: readonly Statement[]): string {
  let [text, at] = ["", 0];
  for (const { statement: { index, text: sentence }, place } of sentencesIn(draft, statements)) {
    // The bars at the ends of a table's row are not part of its cells.
    const [, bar = "", inner = "", rest = ""] = /^(\|?\s*)([^]*?)(\s*\|?)$/.exec(sentence) ?? [];
    const letter = String.fromCharCode(PRIVATE + index);
    text += withoutPrivate(draft.slice(at, place) + bar) + BEGIN + letter + CLOSE +
      withoutPrivate(inner) + END + letter + CLOSE + rest;
    at = place + sentence.length;
  }
  return text + withoutPrivate(draft.slice(at));
}

/** Return a text in which nothing can be taken for a mark. */
function withoutPrivate(text: string): string {
  return text.replace(/[\ue000-\uf8ff]/g, "\ufffd");
}

function isHeading(draft: string, place: number): boolean {
  return /^[ >]*#/.test(draft.slice(draft.lastIndexOf("\n", place - 1) + 1, place + 1));
}

/** Return a text without marks: for code, which is shown as it is. */
export function unmarked(text: string): string {
  return text.replace(MARKS, "");
}

/** Return the parts of a piece of a marked text. */
export function partsOfText(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const found of text.matchAll(PART)) {
    if (found.index > at) parts.push({ kind: "text", text: text.slice(at, found.index) });
    at = found.index + found[0].length;
    const [whole, bracket, letter, names] = found;
    if (names !== undefined) {
      parts.push({ kind: "citation", names: namesOf(names), text: whole });
    } else {
      const index = letter!.charCodeAt(0) - PRIVATE;
      parts.push({ kind: bracket === BEGIN ? "begin" : "end", index });
    }
  }
  if (at < text.length) parts.push({ kind: "text", text: text.slice(at) });
  return parts;
}

/** Return a problem as people read it: passages have names, not brackets. */
export function problemWords(problem: string): string {
  return problem.replace(CITATION, "passage $1");
}

/** Return the id of each passage that a draft cites, by its name in the draft. */
export function passageIds(statements: readonly Statement[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const { text, passages } of statements) {
    const names = new Set([...text.matchAll(CITATION)].flatMap((found) => namesOf(found[1]!)));
    if (names.size === passages.length) {
      [...names].forEach((name, at) => ids.set(name, passages[at]!));
    }
  }
  return ids;
}

/** Return the number of the source of each passage that a draft cites, by id: the first source is 1. */
export function sourceNumbers(
  draft: string,
  ids: ReadonlyMap<string, string>,
  passages: { readonly [id: string]: Passage },
): ReadonlyMap<string, number> {
  const sources = new Map<string, number>();
  const numbers = new Map<string, number>();
  for (const found of draft.matchAll(CITATION)) {
    for (const name of namesOf(found[1]!)) {
      const passage = passages[ids.get(name) ?? ""];
      if (passage === undefined) continue;
      const source = `${passage.title}\n${passage.url}`;
      if (!sources.has(source)) sources.set(source, sources.size + 1);
      numbers.set(passage.id, sources.get(source)!);
    }
  }
  return numbers;
}

function namesOf(names: string): string[] {
  return names.split(/[,;]/).map((name) => name.trim().toLowerCase());
}
