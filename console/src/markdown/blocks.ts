// Markdown as blocks: paragraphs, headings, lists, code, quotes, tables. What is no Markdown is text.

import { type Inline, inlinesOf } from "./inlines.ts";

export type Block =
  | { readonly kind: "paragraph"; readonly parts: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly parts: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | {
    readonly kind: "list";
    readonly ordered: boolean;
    readonly start: number;
    readonly items: readonly (readonly Block[])[];
  }
  | {
    readonly kind: "table";
    readonly align: readonly Align[];
    readonly head: readonly (readonly Inline[])[];
    readonly rows: readonly (readonly (readonly Inline[])[])[];
  }
  | { readonly kind: "rule" };

export type Align = "left" | "center" | "right" | null;

/** How deep quotes and lists may nest; what is deeper is a paragraph. */
const DEEPEST = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?= |$)/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:( +)(.*))?$/;

interface Read {
  readonly block: Block;
  /** The first line after the block. */
  readonly next: number;
}

/** The blocks of a text. Never throws. */
export function blocksOf(text: string): readonly Block[] {
  return blocks(text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n"), 0);
}

function blocks(lines: readonly string[], depth: number): Block[] {
  const found: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at]!)) {
      at += 1;
      continue;
    }
    const read = fenced(lines, at) ?? heading(lines, at) ?? rule(lines, at) ??
      (depth < DEEPEST ? quoted(lines, at, depth) ?? listed(lines, at, depth) : null) ??
      tabled(lines, at) ?? paragraph(lines, at, depth);
    found.push(read.block);
    at = read.next;
  }
  return found;
}

function fenced(lines: readonly string[], at: number): Read | null {
  const line = lines[at]!;
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return null;
  const told = line.trim().slice(mark.length).trim();
  if (told.includes("`")) return null; // code within a line
  const inside: string[] = [];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const closing = FENCE.exec(lines[next]!)?.[1];
    if (closing?.startsWith(mark) && lines[next]!.trim() === closing) break;
    inside.push(lines[next]!);
  }
  const [language = ""] = told.split(" ");
  return { block: { kind: "code", language, text: inside.join("\n") }, next: next + 1 };
}

function heading(lines: readonly string[], at: number): Read | null {
  const found = HEADING.exec(lines[at]!);
  if (!found) return null;
  let words = lines[at]!.slice(found[0].length).trim();
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  if (end === 0 || words[end - 1] === " ") words = words.slice(0, end).trimEnd();
  const level = found[1]!.length;
  return { block: { kind: "heading", level, parts: inlinesOf(words) }, next: at + 1 };
}

function rule(lines: readonly string[], at: number): Read | null {
  return RULE.test(lines[at]!) ? { block: { kind: "rule" }, next: at + 1 } : null;
}

function quoted(lines: readonly string[], at: number, depth: number): Read | null {
  const inside: string[] = [];
  let next = at;
  for (; next < lines.length && QUOTE.test(lines[next]!); next += 1) {
    inside.push(lines[next]!.replace(QUOTE, ""));
  }
  if (next === at) return null;
  return { block: { kind: "quote", blocks: blocks(inside, depth + 1) }, next };
}

function listed(lines: readonly string[], at: number, depth: number): Read | null {
  const first = ITEM.exec(lines[at]!);
  if (!first) return null;
  const ordered = first[3] !== undefined;
  const items: Block[][] = [];
  let next = at;
  while (next < lines.length) {
    const opened = ITEM.exec(lines[next]!);
    if (!opened || (opened[3] !== undefined) !== ordered || RULE.test(lines[next]!)) break;
    const item = itemLines(lines, next, opened);
    items.push(blocks(item.inside, depth + 1));
    next = item.next;
    const after = firstFilled(lines, next);
    if (after < lines.length && ITEM.test(lines[after]!)) next = after; // blank lines between items
  }
  return { block: { kind: "list", ordered, start: ordered ? Number(first[3]) : 1, items }, next };
}

/** The lines of one item, its marker and indent taken off. */
function itemLines(
  lines: readonly string[],
  at: number,
  opened: RegExpExecArray,
): { readonly inside: readonly string[]; readonly next: number } {
  const width = opened[1]!.length + opened[2]!.length + Math.min(opened[4]?.length ?? 1, 4);
  const least = opened[1]!.length + 2; // models indent by two, whatever the marker's width
  const inside = [opened[5] ?? ""];
  let next = at + 1;
  while (next < lines.length) {
    const line = lines[next]!;
    if (isBlank(line)) {
      const after = firstFilled(lines, next);
      if (after >= lines.length || indentOf(lines[after]!) < least) break;
      inside.push("");
      next = after;
    } else if (indentOf(line) >= least) {
      inside.push(line.slice(Math.min(width, indentOf(line))));
      next += 1;
    } else {
      if (inside.at(-1) === "" || startsBlock(line)) break;
      inside.push(line.trimStart()); // a paragraph that goes on without indent
      next += 1;
    }
  }
  return { inside, next };
}

function tabled(lines: readonly string[], at: number): Read | null {
  const under = lines[at + 1];
  if (!lines[at]!.includes("|") || under === undefined || !/[|-]/.test(under)) return null;
  const rules = cellsOf(under);
  const titles = cellsOf(lines[at]!);
  if (rules.length !== titles.length || !rules.every((cell) => /^:?-+:?$/.test(cell))) return null;
  const align = rules.map(alignOf);
  const rows: (readonly Inline[])[][] = [];
  let next = at + 2;
  for (; next < lines.length; next += 1) {
    if (!lines[next]!.includes("|")) break;
    const cells = cellsOf(lines[next]!);
    rows.push(align.map((_, column) => inlinesOf(cells[column] ?? "")));
  }
  const head = titles.map((title) => inlinesOf(title));
  return { block: { kind: "table", align, head, rows }, next };
}

function cellsOf(line: string): string[] {
  const cells = line.trim().replace(/^\|/, "").split(/(?<!\\)\|/).map((cell) =>
    cell.trim().replaceAll("\\|", "|")
  );
  if (cells.at(-1) === "") cells.pop(); // what stands after the last bar
  return cells;
}

function alignOf(cell: string): Align {
  if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "right";
  return cell.startsWith(":") ? "left" : null;
}

function paragraph(lines: readonly string[], at: number, depth: number): Read {
  const inside = [lines[at]!.trimStart()];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next]!;
    if (isBlank(line) || (depth < DEEPEST && startsBlock(line))) break;
    inside.push(line.trimStart());
  }
  return { block: { kind: "paragraph", parts: inlinesOf(inside.join("\n").trimEnd()) }, next };
}

function startsBlock(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((start) => start.test(line));
}

function isBlank(line: string): boolean {
  return line.trim() === "";
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function firstFilled(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && isBlank(lines[at]!)) at += 1;
  return at;
}
