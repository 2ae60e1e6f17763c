// The list of runs as it stands on the page: the newest page is fetched again and again, older ones once.

import type { RunLine, RunsPage } from "../wire.ts";

export interface Listing {
  readonly lines: readonly RunLine[];
  /** What gets the page after the last line; null when there is none. */
  readonly cursor: string | null;
  /** Whether pages after the first were asked for. */
  readonly further: boolean;
}

export const NOTHING: Listing = { lines: [], cursor: null, further: false };

/**
 * The list after the newest page came once more. Within the stretch of time that the page covers it is the truth: what
 * is not in it any more (it left the filter) goes. Lines older than that stay, if pages after the first were asked for.
 */
export function refreshed(held: Listing, newest: RunsPage): Listing {
  const end = newest.runs.at(-1);
  if (!held.further || newest.next_cursor === null || end === undefined) {
    return { lines: newest.runs, cursor: newest.next_cursor, further: false };
  }
  const fresh = new Set(newest.runs.map((line) => line.run_id));
  const older = held.lines.filter((line) =>
    !fresh.has(line.run_id) && line.created_at <= end.created_at
  );
  return { lines: [...newest.runs, ...older], cursor: held.cursor, further: true };
}

/** The list with a further page at its end. */
export function extended(held: Listing, page: RunsPage): Listing {
  const known = new Set(held.lines.map((line) => line.run_id));
  const more = page.runs.filter((line) => !known.has(line.run_id));
  return { lines: [...held.lines, ...more], cursor: page.next_cursor, further: true };
}

/** The words for spans of time that the URL's `since` knows, and how long they are. */
export const SPANS: { readonly [span: string]: { readonly label: string; readonly ms: number } } = {
  "1h": { label: "the last hour", ms: 3_600_000 },
  "1d": { label: "the last day", ms: 86_400_000 },
  "7d": { label: "the last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "the last 30 days", ms: 30 * 86_400_000 },
};

/** A moment for the service from the URL's `since`: a span before now, to the minute, or a moment as it is. */
export function momentOf(since: string, now: number): string | undefined {
  if (!since) return undefined;
  const span = SPANS[since];
  if (!span) return since;
  return new Date(Math.floor((now - span.ms) / 60_000) * 60_000).toISOString();
}
