// The list of runs on the page: the newest page is polled, older pages are fetched once.

import type { RunLine, RunsPage } from "../wire.ts";

export interface Listing {
  readonly lines: readonly RunLine[];
  /** The cursor of the page after the last line; null after the last page. */
  readonly cursor: string | null;
  /** Whether pages after the first were fetched. */
  readonly further: boolean;
}

export const EMPTY: Listing = { lines: [], cursor: null, further: false };

/**
 * Return the list after the newest page was fetched again. The page replaces all lines of the time that it covers, so
 * that a run that no longer matches the filter is removed. Older lines stay, if pages after the first were fetched. In a
 * list that is `sorted` in another way, every other line stays.
 */
export function refreshed(listing: Listing, newest: RunsPage, sorted = false): Listing {
  const end = newest.runs.at(-1);
  if (!listing.further || newest.next_cursor === null || end === undefined) {
    return { lines: newest.runs, cursor: newest.next_cursor, further: false };
  }
  const fresh = new Set(newest.runs.map((line) => line.run_id));
  const older = listing.lines.filter((line) =>
    !fresh.has(line.run_id) && (sorted || line.created_at <= end.created_at)
  );
  return { lines: [...newest.runs, ...older], cursor: listing.cursor, further: true };
}

/** Return the list with another page at its end. */
export function extended(listing: Listing, page: RunsPage): Listing {
  const known = new Set(listing.lines.map((line) => line.run_id));
  const more = page.runs.filter((line) => !known.has(line.run_id));
  return { lines: [...listing.lines, ...more], cursor: page.next_cursor, further: true };
}

/** The spans of time that the URL's `since` knows. */
export const SPANS: { readonly [span: string]: { readonly label: string; readonly ms: number } } = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "1d": { label: "Last day", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
};

/** Return the moment that the URL's `since` names: a span before now, to the minute, or a moment. */
export function startOf(since: string, now: number): string | undefined {
  if (!since) return undefined;
  const span = SPANS[since];
  if (!span) return since;
  return new Date(Math.floor((now - span.ms) / 60_000) * 60_000).toISOString();
}
