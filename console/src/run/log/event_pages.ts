// The event log: pages are fetched when they come into sight, and new events arrive by the stream.

import type { EventSummary } from "../state/view.ts";

/** The kinds of events that the log can be filtered by. */
export const KINDS = ["problems", "tools", "models", "work", "people"] as const;
export type Kind = typeof KINDS[number];

export interface Filter {
  readonly text: string;
  readonly kinds: readonly Kind[];
}

type FetchPage = (after: number) => Promise<readonly EventSummary[]>;

/** Events per page. */
export const PAGE_SIZE = 500;

export class EventPages {
  /** The number of events that are loaded. */
  loaded = 0;

  #events: (EventSummary | undefined)[] = []; // at seq - 1: the log has no gaps
  #queue = new Map<number, readonly [first: number, last: number]>(); // by page
  #fetching = false;
  #fetchPage: FetchPage;
  #onPage: () => void;

  /** `fetchPage` returns the PAGE_SIZE events after a seq; `onPage` is called when a page has arrived. */
  constructor(fetchPage: FetchPage, onPage: () => void) {
    this.#fetchPage = fetchPage;
    this.#onPage = onPage;
  }

  get(seq: number): EventSummary | undefined {
    return this.#events[seq - 1];
  }

  add({ seq, at, type, words }: EventSummary): void {
    if (this.get(seq) !== undefined) return;
    this.#events[seq - 1] = { seq, at, type, words };
    this.loaded += 1;
  }

  /** Fetch the missing events from `first` to `last`, a page at a time. The newest request, and within it the last
   *  page, comes first. */
  async load(first: number, last: number): Promise<void> {
    for (let page = pageOf(first); page <= pageOf(last); page += 1) {
      const range = [
        Math.max(first, page * PAGE_SIZE + 1),
        Math.min(last, (page + 1) * PAGE_SIZE),
      ] as const;
      if (this.#has(...range)) continue;
      this.#queue.delete(page); // moves to the end
      this.#queue.set(page, range);
    }
    if (this.#fetching) return;
    this.#fetching = true;
    try {
      for (let page = this.#next(); page !== undefined; page = this.#next()) {
        (await this.#fetchPage(page * PAGE_SIZE)).forEach((event) => this.add(event));
        this.#onPage();
      }
    } finally {
      this.#fetching = false;
    }
  }

  /** Take the page that was requested last from the queue. */
  #next(): number | undefined {
    for (const [page, range] of [...this.#queue].toReversed()) {
      this.#queue.delete(page);
      if (!this.#has(...range)) return page;
    }
    return undefined;
  }

  /** Return the loaded events up to `last` that match a filter. */
  matching({ text, kinds }: Filter, last: number): EventSummary[] {
    const sought = text.toLowerCase();
    return this.#events.slice(0, last).filter((event): event is EventSummary =>
      event !== undefined && isOneOf(event, kinds) && (!sought || textOf(event).includes(sought))
    );
  }

  #has(first: number, last: number): boolean {
    for (let seq = first; seq <= last; seq += 1) {
      if (this.get(seq) === undefined) return false;
    }
    return true;
  }
}

function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE_SIZE);
}

export function isProblem(event: EventSummary): boolean {
  return event.words.tone === "problem";
}

function isOneOf(event: EventSummary, kinds: readonly Kind[]): boolean {
  return kinds.length === 0 ||
    kinds.some((kind) =>
      kind === "problems" ? isProblem(event) : event.words.topics.includes(kind)
    );
}

function textOf({ seq, type, words }: EventSummary): string {
  return `${seq} ${words.title} ${words.subject} ${words.text} ${type}`.toLowerCase();
}
