// Follow one run: each change once and in order, live text, and the state of the connection.

import type { LinkState } from "../../connection.ts";
import { stream } from "../../stream.ts";
import type { Change, View } from "./view.ts";

/** Live text of an attempt, which replaces its text from `offset` on; "" at 0 starts again. */
export interface Delta {
  readonly attempt: string;
  readonly offset: number;
  readonly text: string;
}

export interface Handlers {
  /** A view that replaces everything before it, when there were too many changes to send one by one. */
  snapshot(view: View): void;
  /** Each change once, in the order of `seq`. */
  change(change: Change): void;
  delta(delta: Delta): void;
  /** The run is over and all its changes were sent. */
  end(): void;
  link(state: LinkState): void;
}

/** Follow the changes of a run after event `after`; return a function that stops it. */
export function follow(runId: string, after: number, handlers: Handlers): () => void {
  let last = after;
  const close = stream({
    path: () => `/api/runs/${encodeURIComponent(runId)}/view/stream?after=${last}`,
    on: {
      snapshot(view: View) {
        last = view.last_seq;
        handlers.snapshot(view);
      },
      message(change: Change) {
        if (change.seq <= last) return;
        last = change.seq;
        handlers.change(change);
      },
      delta: handlers.delta,
      end() {
        close();
        handlers.end();
      },
    },
    link: handlers.link,
  });
  return close;
}
