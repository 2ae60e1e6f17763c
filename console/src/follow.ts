// Follows one run: its events in order without gap or repeat, live text, and the state of the link.

import { type LinkState, reachable } from "./connection.ts";
import type { Delta, Entry, StreamEnd } from "./documents.ts";

export interface Handlers {
  /** Each entry once, in the order of `seq`. */
  event(entry: Entry): void;
  delta(delta: Delta): void;
  /** The run is over and all was sent; nothing comes after it. */
  end(end: StreamEnd): void;
  link(state: LinkState): void;
}

export interface Following {
  /** Ends it; no handler is called again. */
  close(): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;

/**
 * Opens the run's event stream after entry `after` and keeps it open: while the tab is hidden it is closed (browsers
 * allow six connections to a host), and it is opened again, after the last entry that came, when the tab is shown or
 * when the connection broke.
 */
export function follow(
  runId: string,
  after: number,
  { brief = false }: { brief?: boolean },
  handlers: Handlers,
): Following {
  let last = after;
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT_MS;
  let over = false;

  function open(): void {
    shut();
    const query = new URLSearchParams({ after: String(last) });
    if (brief) query.set("brief", "true");
    const opened = new EventSource(`/api/runs/${encodeURIComponent(runId)}/events?${query}`);
    source = opened;
    opened.onopen = () => {
      wait = FIRST_WAIT_MS;
      reachable.value = true;
      handlers.link("live");
    };
    opened.onmessage = (message: MessageEvent<string>) => {
      const entry = JSON.parse(message.data) as Entry;
      if (entry.seq <= last) return;
      last = entry.seq;
      handlers.event(entry);
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

  function turn(): void {
    if (document.hidden) {
      shut();
      handlers.link("paused");
    } else if (source === null) {
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
  return { close };
}
