// What a revision changed: paragraphs side by side, with the words that were removed and added.

import { diffArrays } from "diff";

/** A piece of a text; `changed` if the other side does not have it. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

/** A paragraph before and after; empty for a paragraph that was added or removed, and the same pieces if nothing changed. */
export interface Row {
  readonly before: readonly Piece[];
  readonly after: readonly Piece[];
  readonly changed: boolean;
}

/** A text with more changed words than this counts as rewritten. */
const MAX_CHANGES = 1_000;

export function changedRows(before: string, after: string): Row[] {
  const rows: Row[] = [];
  let removed: string[] = []; // what the next paragraphs replace
  const replace = (added: string[]): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      rows.push(changedRow(removed[at] ?? "", added[at] ?? ""));
    }
    removed = [];
  };
  for (const part of diffArrays(paragraphsOf(before), paragraphsOf(after))) {
    if (part.removed) removed = part.value;
    else if (part.added) replace(part.value);
    else {
      replace([]);
      const same = part.value.map((text) => [{ text, changed: false }]);
      rows.push(...same.map((pieces) => ({ before: pieces, after: pieces, changed: false })));
    }
  }
  replace([]);
  return rows;
}

function paragraphsOf(text: string): string[] {
  return text.split(/\n{2,}/).map((paragraph) => paragraph.trim()).filter(Boolean);
}

function changedRow(before: string, after: string): Row {
  const words = (text: string): string[] => text.match(/\s+|[^\s]+/g) ?? [];
  const parts = diffArrays(words(before), words(after), { maxEditLength: MAX_CHANGES }) ??
    [{ value: [before], removed: true, added: false }, {
      value: [after],
      removed: false,
      added: true,
    }];
  const side = (other: "added" | "removed"): Piece[] =>
    parts.filter((part) => !part[other] && part.value.join("") !== "")
      .map(({ value, added, removed }) => ({ text: value.join(""), changed: added || removed }));
  return { before: side("added"), after: side("removed"), changed: true };
}
