// The difference between the clock of the server and the clock of this machine, from the dates of answers.

/** Bounds, in milliseconds, of what to add to this machine's clock to get the clock of the server. */
export interface Ahead {
  readonly least: number;
  readonly most: number;
}

/** A `Date` header has whole seconds, and servers update it about once a second: it may be this old. */
const OLDEST_DATE_MS = 2_500;

/**
 * Return the bounds that one answer gives: it was dated between its request and its arrival, both by this machine's
 * clock in milliseconds. Null for an answer without a date.
 */
export function aheadBy(date: string | null, sent: number, arrived: number): Ahead | null {
  const dated = Date.parse(date ?? "");
  if (Number.isNaN(dated)) return null;
  return { least: dated - arrived, most: dated + OLDEST_DATE_MS - sent };
}

/** Return the bounds after another answer. If two contradict each other, a clock was corrected, and the newer counts. */
export function narrowed(known: Ahead | null, newest: Ahead): Ahead {
  if (known === null) return newest;
  const least = Math.max(known.least, newest.least);
  const most = Math.min(known.most, newest.most);
  return least <= most ? { least, most } : newest;
}

/** Return what to add to this machine's clock: nothing while it may be right, else the middle of the bounds. */
export function correction(known: Ahead | null): number {
  if (known === null || (known.least <= 0 && known.most >= 0)) return 0;
  return (known.least + known.most) / 2;
}
