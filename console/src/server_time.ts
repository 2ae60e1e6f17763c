// The difference between the clock of the server and the clock of this machine, from the dates of responses.

/** Bounds, in milliseconds, of what to add to this machine's clock to get the clock of the server. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** A `Date` header has whole seconds, and servers update it about once a second: it may be this old. */
const MAX_DATE_AGE_MS = 2_500;

/**
 * Return the bounds that one response gives: its date lies between its request and its arrival, both by this machine's
 * clock in milliseconds. Null for a response without a date.
 */
export function boundsOf(date: string | null, sent: number, arrived: number): Bounds | null {
  const dated = Date.parse(date ?? "");
  if (Number.isNaN(dated)) return null;
  return { least: dated - arrived, most: dated + MAX_DATE_AGE_MS - sent };
}

/** Return the bounds after another response. If two contradict each other, a clock was corrected: the newer counts. */
export function narrow(known: Bounds | null, newest: Bounds): Bounds {
  if (known === null) return newest;
  const least = Math.max(known.least, newest.least);
  const most = Math.min(known.most, newest.most);
  return least <= most ? { least, most } : newest;
}

/** Return what to add to this machine's clock: nothing while it may be right, else the middle of the bounds. */
export function correction(known: Bounds | null): number {
  if (known === null || (known.least <= 0 && known.most >= 0)) return 0;
  return (known.least + known.most) / 2;
}
