// Follow one run: each change once and in order, live text, and the state of the connection.

import { type LinkState, reachable } from "../../connection.ts";
import { addressOf } from "../../router.ts";
import type { RunStatus } from "../../wire.ts";
import type { Change, View } from "./view.ts";

/** Live text of an attempt, which replaces its text from `offset` on; "" at 0 starts again. */
export interface Delta {
  readonly attempt: string;
  readonly offset: number;
  readonly text: string;
}

interface StreamEnd {
  readonly status: RunStatus;
  readonly last_seq: number;
}

export interface Handlers {
  /** A view that replaces everything before it, when there were too many changes to send one by one. */
  snapshot(view: View): void;
  /** Each change once, in the order of `seq`. */
  change(change: Change): void;
  delta(delta: Delta): void;
  /** The run is over and all its changes were sent. */
  end(end: StreamEnd): void;
  link(state: LinkState): void;
}

export interface Following {
  /** While the tab is hidden: connect until event `seq` has arrived. */
  catchUp(seq: number): void;
  /** Stop following; no handler is called again. */
  close(): void;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;

/**
 * Open the run's stream of changes after event `after` and keep it open. It is closed while the tab is hidden, because
 * browsers allow six connections to a host. It is opened again after the last event received, when the tab is shown and
 * when the connection breaks.
 */
export function follow(runId: string, after: number, handlers: Handlers): Following {
  let last = after;
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let delay = FIRST_DELAY_MS;
  let over = false;
  let until = 0; // the last event that a hidden tab waits for

  function open(): void {
    disconnect();
    const opened = new EventSource(
      addressOf(`/api/runs/${encodeURIComponent(runId)}/view/stream?after=${last}`),
    );
    source = opened;
    opened.onopen = () => {
      delay = FIRST_DELAY_MS;
      reachable.value = true;
      if (!document.hidden) handlers.link("live");
    };
    opened.addEventListener("snapshot", (message: MessageEvent<string>) => {
      const view = JSON.parse(message.data) as View;
      last = view.last_seq;
      handlers.snapshot(view);
      disconnectIfCaughtUp();
    });
    opened.onmessage = (message: MessageEvent<string>) => {
      const change = JSON.parse(message.data) as Change;
      if (change.seq <= last) return;
      last = change.seq;
      handlers.change(change);
      disconnectIfCaughtUp();
    };
    opened.addEventListener("delta", (message: MessageEvent<string>) => {
      handlers.delta(JSON.parse(message.data) as Delta);
    });
    opened.addEventListener("end", (message: MessageEvent<string>) => {
      close();
      handlers.end(JSON.parse(message.data) as StreamEnd);
      handlers.link("ended");
    });
    // The browser reconnects by itself, but not after a response that is not a stream.
    opened.onerror = () => {
      if (source !== opened) return;
      disconnect();
      if (document.hidden) return;
      handlers.link("reconnecting");
      // The second failure in a row: the service or the session may be gone, and session_check.ts finds out.
      if (delay > FIRST_DELAY_MS) reachable.value = false;
      timer = setTimeout(open, delay);
      delay = Math.min(delay * 2, MAX_DELAY_MS);
    };
  }

  function disconnect(): void {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function disconnectIfCaughtUp(): void {
    if (document.hidden && last >= until) disconnect();
  }

  function catchUp(seq: number): void {
    if (over || !document.hidden || source !== null || seq <= last) return;
    until = seq;
    open();
  }

  function onVisibility(): void {
    if (document.hidden) {
      disconnect();
      handlers.link("paused");
    } else if (source === null || last < until) {
      handlers.link("connecting");
      open();
    }
  }

  function close(): void {
    if (over) return;
    over = true;
    disconnect();
    document.removeEventListener("visibilitychange", onVisibility);
    removeEventListener("online", onVisibility);
  }

  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("online", onVisibility);
  onVisibility();
  return { catchUp, close };
}
