// A text in which claims are marked: signs that Markdown reads as punctuation enclose each of them.

import type { ComponentChildren } from "preact";
import type { Annotate } from "../../markdown.tsx";
import type { ClaimVerdict } from "../../wire.ts";

/** A stretch of a text, in code points, and what to show behind it. */
export interface Mark {
  readonly start: number;
  readonly end: number;
  readonly verdict: ClaimVerdict;
  readonly note: ComponentChildren;
}

/** Return what to show for a citation of these names; null for one that is not a citation of this text. */
export type Cite = (names: readonly string[], key: string) => ComponentChildren;

/** Brackets of a sign, which Markdown reads as punctuation: emphasis beside them stays emphasis. */
const [BEGIN, END, CLOSE] = ["\u2e22", "\u2e24", "\u2e23"];
const PRIVATE = 0xe000;
const MOST = 0xf8ff - PRIVATE;
const SIGN = /([\u2e22\u2e24])([\ue000-\uf8ff])\u2e23/g;
/** A citation, such as [3], [p3] or [p3, p7]. */
const CITATION = /\[\s*\^?(p?\d+(?:\s*[,;]\s*p?\d+)*)\s*\](?!\()/gi;
const PART = new RegExp(`${SIGN.source}|${CITATION.source}`, "gi");
/** What a line may begin with: a sign before it would change what the line is. */
const LEAD = /^(?:[ \t>]+|(?:[-*+•]|\d{1,9}[.)])(?=[ \t])|#{1,6}(?=[ \t])|\|)*/;

/** Return a text with signs around its marks, which are in order; the names in them are their places in the list. */
export function marked(text: string, marks: readonly Mark[]): string {
  const letters = [...text];
  const between = (from: number, to?: number) =>
    letters.slice(from, to).join("").replace(/[\ue000-\uf8ff]/g, "\ufffd");
  let [found, at] = ["", 0];
  for (const [index, { start, end }] of marks.entries()) {
    const inner = between(start, end);
    const [lead] = LEAD.exec(inner)!;
    const said = inner.slice(lead.length).replace(/[|\s]+$/, "");
    if (start < at || said === "" || index > MOST) continue;
    const letter = String.fromCharCode(PRIVATE + index);
    found += between(at, start) + lead + BEGIN + letter + CLOSE + said + END + letter + CLOSE +
      inner.slice(lead.length + said.length);
    at = end;
  }
  return found + between(at);
}

/** Return the names of the passages or sources that a text cites, in order. */
export function citedIn(text: string): string[] {
  return [...text.matchAll(CITATION)].flatMap((found) => namesOf(found[1]!));
}

function namesOf(names: string): string[] {
  return names.split(/[,;]/).map((name) => name.trim().toLowerCase());
}

/** The beginning or the end of a mark, among what is rendered. */
class Sign {
  constructor(readonly begins: boolean, readonly index: number) {}
}

/** Show marks and citations in the place of those in a marked text. */
export function annotation(marks: readonly Mark[], cite: Cite): Annotate {
  return {
    plain: (text) => text.replace(SIGN, ""),
    text(text) {
      const parts: ComponentChildren[] = [];
      let at = 0;
      for (const found of text.matchAll(PART)) {
        const [whole, bracket, letter, names] = found;
        const shown = names === undefined
          ? new Sign(bracket === BEGIN, letter!.charCodeAt(0) - PRIVATE) as unknown as object
          : cite(namesOf(names), `${found.index}`);
        if (shown === null) continue;
        parts.push(text.slice(at, found.index), shown as ComponentChildren);
        at = found.index + whole.length;
      }
      return [...parts, text.slice(at)];
    },
    content(children) {
      const found: ComponentChildren[] = [];
      let open: { index: number; at: number } | null = null;
      for (const child of children) {
        const sign = child as unknown;
        if (!(sign instanceof Sign)) found.push(child);
        else if (sign.begins) open = { index: sign.index, at: found.length };
        else if (marks[sign.index]) {
          const { index } = sign;
          const { verdict, note } = marks[index]!;
          // A mark that begins within another element, such as emphasis, has its note alone.
          const inside = open?.index === index ? found.splice(open.at) : [];
          found.push(
            <span key={`claim ${index}`} class={`claim ${verdict}`}>{inside}</span>,
            "\u2060",
            <span key={`note ${index}`}>{note}</span>,
          );
        }
      }
      return found;
    },
  };
}
