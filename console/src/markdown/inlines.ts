// A line of Markdown as parts: text, code, emphasis, links. Read by hand, so that nothing in it can become HTML.

export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis" | "strike"; readonly parts: readonly Inline[] }
  | { readonly kind: "link"; readonly href: string; readonly parts: readonly Inline[] }
  | { readonly kind: "break" };

/** How deep emphasis may nest; what is deeper is plain text. */
const DEEPEST = 8;
/** How far a closing mark is looked for: without an end, much text that closes nothing would take its square. */
const FARTHEST = 1500;

/** Where text may stop being text; everything between two of these is taken as it is. */
const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//gi;
const ADDRESS = /https?:\/\/[^\s<>"'`\\]{1,2000}/iy;
const ESCAPABLE = /^[!-/:-@[-`{-~]$/;
const WORD = /[\p{L}\p{N}_]/u;

interface Found {
  readonly part: Inline;
  /** The first character after it. */
  readonly next: number;
}

/** The parts of a text. An image becomes a link to it; an address that is no http(s) stays text. Never throws. */
export function inlinesOf(text: string): readonly Inline[] {
  return inlines(text, 0, true);
}

/** Only what a browser can open without running anything: http and https. Else null. */
export function safeHref(written: string): string | null {
  try {
    const url = new URL(written);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null; // a relative path, or nothing like an address
  }
}

function inlines(text: string, depth: number, links: boolean): Inline[] {
  const parts: Inline[] = [];
  let plain = "";
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text)?.index ?? text.length;
    plain += text.slice(at, special);
    at = special;
    if (at >= text.length) break;
    const found = depth < DEEPEST ? foundAt(text, at, depth, links) : null;
    if (found === null) {
      // A run of marks that opens nothing is passed as one: its later marks would open nothing either.
      const run = runOf(text, at);
      plain += text.slice(at, at + run);
      at += run;
      continue;
    }
    if (found.part.kind === "text") {
      plain += found.part.text;
    } else {
      if (plain) parts.push({ kind: "text", text: plain });
      plain = "";
      parts.push(found.part);
    }
    at = found.next;
  }
  if (plain) parts.push({ kind: "text", text: plain });
  return parts;
}

function foundAt(text: string, at: number, depth: number, links: boolean): Found | null {
  switch (text[at]) {
    case "\\":
      return escaped(text, at);
    case "\n":
      return text.slice(Math.max(0, at - 2), at) === "  "
        ? { part: { kind: "break" }, next: at + 1 }
        : null;
    case "`":
      return code(text, at);
    case "*":
    case "_":
    case "~":
      return emphasis(text, at, depth, links);
    case "!":
      return text[at + 1] === "[" && links ? link(text, at + 1, depth, true) : null;
    case "[":
      return links ? link(text, at, depth, false) : null;
    case "<":
      return angled(text, at, links);
    default:
      return links ? bareAddress(text, at) : null;
  }
}

function runOf(text: string, at: number): number {
  const mark = text[at]!;
  if (!"*_~`".includes(mark)) return 1;
  let end = at + 1;
  while (text[end] === mark) end += 1;
  return end - at;
}

function escaped(text: string, at: number): Found | null {
  const next = text[at + 1];
  if (next === "\n") return { part: { kind: "break" }, next: at + 2 };
  if (next === undefined || !ESCAPABLE.test(next)) return null;
  return { part: { kind: "text", text: next }, next: at + 2 };
}

function code(text: string, at: number): Found | null {
  const end = codeEnd(text, at);
  if (end === null) return null;
  const run = runOf(text, at);
  let inside = text.slice(at + run, end - run).replaceAll("\n", " ");
  if (inside.startsWith(" ") && inside.endsWith(" ") && inside.trim()) {
    inside = inside.slice(1, -1);
  }
  return { part: { kind: "code", text: inside }, next: end };
}

/** The first character after the code that opens here; null if nothing closes it. */
function codeEnd(text: string, at: number): number | null {
  const run = runOf(text, at);
  const end = Math.min(text.length, at + FARTHEST);
  for (let seek = at + run; seek < end;) {
    const found = text.indexOf("`", seek);
    if (found < 0 || found >= end) return null;
    const closing = runOf(text, found);
    if (closing === run) return found + run;
    seek = found + closing;
  }
  return null;
}

function emphasis(text: string, at: number, depth: number, links: boolean): Found | null {
  const mark = text[at]!;
  const run = runOf(text, at);
  if (mark === "_" && at > 0 && WORD.test(text[at - 1]!)) return null; // snake_case
  for (const width of mark === "~" ? [2] : run >= 2 ? [2, 1] : [1]) {
    if (run < width || /^(\s|$)/.test(text[at + width] ?? "")) continue;
    const closing = closingMark(text, at + width, mark, width);
    if (closing === null) continue;
    const parts = inlines(text.slice(at + width, closing), depth + 1, links);
    const kind = mark === "~" ? "strike" : width === 2 ? "strong" : "emphasis";
    return { part: { kind, parts }, next: closing + width };
  }
  return null;
}

/** Where a mark of this width closes what was opened before `from`; null if it does not. */
function closingMark(text: string, from: number, mark: string, width: number): number | null {
  const end = Math.min(text.length, from + FARTHEST);
  for (let at = from; at < end;) {
    const letter = text[at]!;
    if (letter === "\\") {
      at += 2;
    } else if (letter === "`") {
      at = codeEnd(text, at) ?? at + runOf(text, at);
    } else if (letter === mark) {
      const run = runOf(text, at);
      const fits = width === 2 ? run >= 2 : run !== 2;
      const closes = at > from && !/\s/.test(text[at - 1]!);
      const last = at + run - width;
      const inWord = mark === "_" && WORD.test(text[at + run] ?? "");
      if (fits && closes && !inWord) return last;
      at += run;
    } else {
      at += 1;
    }
  }
  return null;
}

/** `[words](address "title")`, at its bracket. What leads to no http(s) address is shown as text, address and all. */
function link(text: string, at: number, depth: number, image: boolean): Found | null {
  const closed = closingBracket(text, at, "[", "]");
  if (closed === null || text[closed + 1] !== "(") return null;
  const ended = closingBracket(text, closed + 1, "(", ")");
  if (ended === null) return null;
  const inside = text.slice(closed + 2, ended).trim();
  const [whole, angled, plain] = /^(?:<([^<>]*)>|(\S*))(?:\s+(?:"[^"]*"|'[^']*'))?$/.exec(inside) ??
    [];
  if (whole === undefined) return null;
  const address = angled ?? plain ?? "";
  const words = text.slice(at + 1, closed);
  const href = safeHref(address);
  if (href === null) {
    return {
      part: { kind: "text", text: address ? `${words} (${address})` : words },
      next: ended + 1,
    };
  }
  const parts = inlines(image ? `image: ${words || href}` : words || href, depth + 1, false);
  return { part: { kind: "link", href, parts }, next: ended + 1 };
}

function closingBracket(text: string, at: number, opens: string, closes: string): number | null {
  const end = Math.min(text.length, at + FARTHEST);
  let open = 0;
  for (let seek = at; seek < end; seek += 1) {
    const letter = text[seek];
    if (letter === "\\") seek += 1;
    else if (letter === opens) open += 1;
    else if (letter === closes && --open === 0) return seek;
  }
  return null;
}

function angled(text: string, at: number, links: boolean): Found | null {
  const near = text.slice(at, at + FARTHEST);
  const broken = /^<br ?\/?>/i.exec(near);
  if (broken) return { part: { kind: "break" }, next: at + broken[0].length };
  const found = links ? /^<(https?:\/\/[^\s<>]*)>/i.exec(near) : null;
  const href = found && safeHref(found[1]!);
  if (!found || !href) return null;
  return {
    part: { kind: "link", href, parts: [{ kind: "text", text: found[1]! }] },
    next: at + found[0].length,
  };
}

function bareAddress(text: string, at: number): Found | null {
  if (at > 0 && WORD.test(text[at - 1]!)) return null;
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text);
  if (!found) return null;
  const written = found[0].slice(0, lengthOfAddress(found[0]));
  const href = safeHref(written);
  if (!href) return null;
  return {
    part: { kind: "link", href, parts: [{ kind: "text", text: written }] },
    next: at + written.length,
  };
}

/** A full stop after an address ends the sentence; a bracket belongs to it only if it was opened in it. */
function lengthOfAddress(written: string): number {
  let open = written.split("(").length - written.split(")").length;
  let end = written.length;
  for (; end > 0; end -= 1) {
    const last = written[end - 1]!;
    if (last === ")" && open < 0) open += 1;
    else if (!/[.,;:!?*_~|\]]/.test(last)) break;
  }
  return end;
}
