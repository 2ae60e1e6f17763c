// The server's clock, as far as its answers tell of it: what lies between it and the clock of this machine.

/** Bounds, in milliseconds, of what has to be added to this machine's clock for that of the server. */
export interface Ahead {
  readonly least: number;
  readonly most: number;
}

/** A `Date` header is told in whole seconds, and servers write it anew only about once a second: it may be so old. */
const OLDEST_DATE_MS = 2_500;

/**
 * What one answer tells: it was dated between its request and its arrival, both by this machine's clock in
 * milliseconds. Null for an answer without a date.
 */
export function aheadBy(date: string | null, sent: number, arrived: number): Ahead | null {
  const dated = Date.parse(date ?? "");
  if (Number.isNaN(dated)) return null;
  return { least: dated - arrived, most: dated + OLDEST_DATE_MS - sent };
}

/** What is known once another answer has come. Two that cannot both be true: a clock was put right, and the newer holds. */
export function narrowed(known: Ahead | null, told: Ahead): Ahead {
  if (known === null) return told;
  const least = Math.max(known.least, told.least);
  const most = Math.min(known.most, told.most);
  return least <= most ? { least, most } : told;
}

/** What to add to this machine's clock: nothing while it may be right, else what lies in the middle. */
export function correction(known: Ahead | null): number {
  if (known === null || (known.least <= 0 && known.most >= 0)) return 0;
  return (known.least + known.most) / 2;
}
