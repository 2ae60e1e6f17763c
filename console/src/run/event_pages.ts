// The event log, fetched page by page as somebody reads it; what happens meanwhile comes from the stream.

import type { Words } from "./view.ts";

/** A row of the log. */
export interface LogRow {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly words: Words;
}

/** What may be shown alone; a chip of the log each. */
export const KINDS = ["problems", "tools", "models", "work", "people"] as const;
export type Kind = typeof KINDS[number];

export interface Filter {
  readonly text: string;
  readonly kinds: readonly Kind[];
}

/** An event as a page of the log or the stream brings it. */
export interface Told {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly words: Words;
}

type Fetch = (after: number) => Promise<readonly Told[]>;

/** Events of a page. */
export const PAGE = 500;

export class EventPages {
  /** How many events have been fetched or came by the stream. */
  known = 0;

  #rows: (LogRow | undefined)[] = []; // at seq - 1: the log has no gaps
  #needed = new Map<number, readonly [first: number, last: number]>(); // by page
  #fetching = false;
  #fetch: Fetch;
  #onRows: () => void;

  /** `fetch` returns the PAGE events after a seq; `onRows` is called when events of a page have arrived. */
  constructor(fetch: Fetch, onRows: () => void) {
    this.#fetch = fetch;
    this.#onRows = onRows;
  }

  row(seq: number): LogRow | undefined {
    return this.#rows[seq - 1];
  }

  add({ seq, at, type, words }: Told): void {
    if (this.#rows[seq - 1] !== undefined) return;
    this.#rows[seq - 1] = { seq, at: Date.parse(at), type, words };
    this.known += 1;
  }

  /** Fetch the events from `first` to `last` that are not known, a page at a time, the last page first. What is needed
   *  last is fetched first. */
  async need(first: number, last: number): Promise<void> {
    for (let page = pageOf(first); page <= pageOf(last); page += 1) {
      const range = [Math.max(first, page * PAGE + 1), Math.min(last, (page + 1) * PAGE)] as const;
      if (this.#has(...range)) continue;
      this.#needed.delete(page); // the newest is the last one
      this.#needed.set(page, range);
    }
    if (this.#fetching) return;
    this.#fetching = true;
    try {
      for (let page = this.#next(); page !== undefined; page = this.#next()) {
        (await this.#fetch(page * PAGE)).forEach((event) => this.add(event));
        this.#onRows();
      }
    } finally {
      this.#fetching = false;
    }
  }

  /** Take the page that was needed last from what is needed. */
  #next(): number | undefined {
    for (const [page, range] of [...this.#needed].toReversed()) {
      this.#needed.delete(page);
      if (!this.#has(...range)) return page;
    }
    return undefined;
  }

  /** Return the rows up to `last` that pass a filter, of those that are known. */
  matching({ text, kinds }: Filter, last: number): LogRow[] {
    const wanted = text.toLowerCase();
    return this.#rows.slice(0, last).filter((row): row is LogRow =>
      row !== undefined && isOneOf(row, kinds) && (!wanted || textOf(row).includes(wanted))
    );
  }

  #has(first: number, last: number): boolean {
    for (let seq = first; seq <= last; seq += 1) {
      if (this.#rows[seq - 1] === undefined) return false;
    }
    return true;
  }
}

function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE);
}

export function isProblem(row: LogRow): boolean {
  return row.words.tone === "problem";
}

function isOneOf(row: LogRow, kinds: readonly Kind[]): boolean {
  return kinds.length === 0 ||
    kinds.some((kind) => kind === "problems" ? isProblem(row) : row.words.topics.includes(kind));
}

function textOf({ seq, type, words }: LogRow): string {
  return `${seq} ${words.title} ${words.subject} ${words.text} ${type}`.toLowerCase();
}
