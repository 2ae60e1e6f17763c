// The event log: pages are fetched when they come into sight, and new events arrive by the stream.

import { batch, type Signal, signal } from "@preact/signals";
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
  readonly loaded: Signal<number> = signal(0);

  #events: (EventSummary | undefined)[] = []; // at seq - 1: the log has no gaps
  #fetching = new Set<number>(); // pages
  #fetchPage: FetchPage;

  /** `fetchPage` returns the PAGE_SIZE events after a seq. */
  constructor(fetchPage: FetchPage) {
    this.#fetchPage = fetchPage;
  }

  /** Return an event; undefined until it is loaded. */
  get(seq: number): EventSummary | undefined {
    this.loaded.value; // subscribes to events that arrive
    return this.#events[seq - 1];
  }

  add({ seq, at, type, words }: EventSummary): void {
    if (this.get(seq) !== undefined) return;
    this.#events[seq - 1] = { seq, at, type, words };
    this.loaded.value += 1;
  }

  /** Fetch the missing events from `first` to `last`, a page at a time, the last page first. */
  async load(first: number, last: number): Promise<void> {
    for (let page = pageOf(last); page >= pageOf(first); page -= 1) {
      const from = page * PAGE_SIZE;
      const isKnown = this.#has(Math.max(first, from + 1), Math.min(last, from + PAGE_SIZE));
      if (isKnown || this.#fetching.has(page)) continue;
      this.#fetching.add(page);
      try {
        const events = await this.#fetchPage(from);
        batch(() => events.forEach((event) => this.add(event)));
      } finally {
        this.#fetching.delete(page);
      }
    }
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
