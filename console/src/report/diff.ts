// What a revision changed: paragraphs side by side, with the words that were removed and added.

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

/** Above this product of lengths, everything between the common ends counts as changed. */
const MAX_CELLS = 1_000_000;

export function changedRows(before: string, after: string): Row[] {
  const rows: Row[] = [];
  for (const [removed, added] of runs(paragraphsOf(before), paragraphsOf(after))) {
    if (removed === added) {
      const pieces = [{ text: removed[0]!, changed: false }];
      rows.push({ before: pieces, after: pieces, changed: false });
      continue;
    }
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      const [old, now] = wordsChanged(removed[at] ?? "", added[at] ?? "");
      rows.push({ before: old, after: now, changed: true });
    }
  }
  return rows;
}

function paragraphsOf(text: string): string[] {
  return text.split(/\n{2,}/).map((paragraph) => paragraph.trim()).filter(Boolean);
}

function wordsChanged(before: string, after: string): [Piece[], Piece[]] {
  const words = (text: string) => text.match(/\s+|[^\s]+/g) ?? [];
  const [old, now]: [Piece[], Piece[]] = [[], []];
  const add = (pieces: Piece[], items: readonly string[], changed: boolean) => {
    const last = pieces.at(-1);
    const text = items.join("");
    if (text === "") return;
    if (last?.changed === changed) pieces[pieces.length - 1] = { text: last.text + text, changed };
    else pieces.push({ text, changed });
  };
  for (const [removed, added] of runs(words(before), words(after))) {
    add(old, removed, removed !== added);
    add(now, added, removed !== added);
  }
  return [old, now];
}

/**
 * Return two lists as runs, in order: one common item (the same list twice), or the items that were removed and added.
 * The common items are a longest common subsequence.
 */
function runs(before: readonly string[], after: readonly string[]): [string[], string[]][] {
  const [rows, columns] = [before.length, after.length];
  if (rows * columns > MAX_CELLS) return [[[...before], [...after]]];
  const lengths = Array.from({ length: rows + 1 }, () => new Uint32Array(columns + 1));
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      lengths[row]![column] = before[row] === after[column]
        ? lengths[row + 1]![column + 1]! + 1
        : Math.max(lengths[row + 1]![column]!, lengths[row]![column + 1]!);
    }
  }
  const found: [string[], string[]][] = [];
  let [row, column] = [0, 0];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    if (removed.length + added.length > 0) found.push([removed, added]);
    [removed, added] = [[], []];
  };
  while (row < rows || column < columns) {
    if (row < rows && column < columns && before[row] === after[column]) {
      flush();
      const common = [before[row]!];
      found.push([common, common]);
      row += 1;
      column += 1;
    } else if (
      column === columns ||
      row < rows && lengths[row + 1]![column]! >= lengths[row]![column + 1]!
    ) removed.push(before[row++]!);
    else added.push(after[column++]!);
  }
  flush();
  return found;
}
