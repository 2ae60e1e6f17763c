// The fold: entries of a run's log into the model of the screen.

import { ATTEMPT_HANDLERS } from "./attempt_events.ts";
import type { Entry, Event } from "./entry.ts";
import { rowOf } from "./log_rows.ts";
import type { Handler, Handlers, Model } from "./model.ts";
import { ORDER_HANDLERS } from "./order_events.ts";
import { APPROVAL_HANDLERS, RUN_HANDLERS } from "./run_events.ts";

const HANDLERS: Handlers = {
  ...RUN_HANDLERS,
  ...ORDER_HANDLERS,
  ...ATTEMPT_HANDLERS,
  ...APPROVAL_HANDLERS,
};

/** Fold entries, in the order of the log. What was folded before is skipped, so a resend does no harm.
 *  Returns whether anything changed. */
export function applyBatch(model: Model, entries: Iterable<Entry>): boolean {
  const before = model.seq;
  for (const entry of entries) {
    if (entry.seq > model.seq) apply(model, entry);
  }
  if (model.seq === before) return false;
  model.version += 1;
  return true;
}

function apply(model: Model, entry: Entry): void {
  const at = Date.parse(entry.at);
  model.seq = entry.seq;
  if (model.startedAt === null) model.idleSince = model.startedAt = at;
  // Clocks of two hosts may differ a little: time on the axis never goes back.
  model.lastAt = Math.max(at, model.lastAt ?? at);
  const handler = HANDLERS[entry.type] as Handler<Event> | undefined;
  handler?.(model, entry, model.lastAt);
  const row = rowOf(entry, at);
  if (row.problem && model.firstProblem === null) model.firstProblem = row.seq;
  model.log.push(row);
}
