// Follow one run: its changes in order without gap or repeat, live text, and the state of the connection.

import { type LinkState, reachable } from "./connection.ts";
import type { RunStatus } from "./wire.ts";
import type { Change, View } from "./run/view.ts";

/** Live text of an attempt, to be put at `offset` of its text so far; "" at 0 starts again. */
export interface Delta {
  readonly attempt: string;
  readonly offset: number;
  readonly text: string;
}

export interface StreamEnd {
  readonly status: RunStatus;
  readonly last_seq: number;
}

export interface Handlers {
  /** A view that replaces everything before it: too much happened for single changes. */
  snapshot(view: View): void;
  /** Each change once, in the order of `seq`. */
  change(change: Change): void;
  delta(delta: Delta): void;
  /** The run is over and everything was sent; nothing comes after it. */
  end(end: StreamEnd): void;
  link(state: LinkState): void;
}

export interface Following {
  /** While the tab is hidden: connect until event `seq` has come. */
  catchUp(seq: number): void;
  /** Ends it; no handler is called again. */
  close(): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;

/**
 * Open the run's stream of changes after event `after` and keep it open. While the tab is hidden the stream is closed
 * (browsers allow six connections to a host); it is opened again, after the last event that came, when the tab is shown
 * or when the connection broke.
 */
export function follow(runId: string, after: number, handlers: Handlers): Following {
  let last = after;
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT_MS;
  let over = false;
  let until = 0; // what a hidden tab waits for

  function open(): void {
    shut();
    const opened = new EventSource(`/api/runs/${encodeURIComponent(runId)}/view?after=${last}`);
    source = opened;
    opened.onopen = () => {
      wait = FIRST_WAIT_MS;
      reachable.value = true;
      if (!document.hidden) handlers.link("live");
    };
    opened.addEventListener("snapshot", (message: MessageEvent<string>) => {
      const view = JSON.parse(message.data) as View;
      last = view.last_seq;
      handlers.snapshot(view);
      shutIfCaughtUp();
    });
    opened.onmessage = (message: MessageEvent<string>) => {
      const change = JSON.parse(message.data) as Change;
      if (change.seq <= last) return;
      last = change.seq;
      handlers.change(change);
      shutIfCaughtUp();
    };
    opened.addEventListener("delta", (message: MessageEvent<string>) => {
      handlers.delta(JSON.parse(message.data) as Delta);
    });
    opened.addEventListener("end", (message: MessageEvent<string>) => {
      close();
      handlers.end(JSON.parse(message.data) as StreamEnd);
      handlers.link("ended");
    });
    // The browser would reconnect by itself, but not after an answer that is no stream; this does both alike.
    opened.onerror = () => {
      if (source !== opened) return;
      shut();
      if (document.hidden) return;
      handlers.link("reconnecting");
      // Twice in a row: the service may be gone, or the session. What watches over both asks.
      if (wait > FIRST_WAIT_MS) reachable.value = false;
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    };
  }

  function shut(): void {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function shutIfCaughtUp(): void {
    if (document.hidden && last >= until) shut();
  }

  function catchUp(seq: number): void {
    if (over || !document.hidden || source !== null || seq <= last) return;
    until = seq;
    open();
  }

  function turn(): void {
    if (document.hidden) {
      shut();
      handlers.link("paused");
    } else if (source === null || last < until) {
      handlers.link("reconnecting");
      open();
    }
  }

  function close(): void {
    if (over) return;
    over = true;
    shut();
    document.removeEventListener("visibilitychange", turn);
    removeEventListener("online", turn);
  }

  document.addEventListener("visibilitychange", turn);
  addEventListener("online", turn);
  turn();
  return { catchUp, close };
}
