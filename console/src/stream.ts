// Streams of Server-Sent Events: opened again after they break, and given up while another tab needs the connection.

import { type LinkState, reachable } from "./connection.ts";

interface StreamOptions {
  /** Return the path; it is asked for at each connection. */
  readonly path: () => string;
  /** What to do with the data of each kind of event. */
  // deno-lint-ignore no-explicit-any
  readonly on: { readonly [event: string]: (data: any) => void };
  readonly link?: (state: LinkState) => void;
  /** Whether a hidden tab may keep the stream; by default it may. */
  readonly whileHidden?: boolean;
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;

/**
 * Open a stream and keep it open; return a function that closes it. Browsers allow six connections to a host, so of the
 * hidden tabs only the one that was seen last keeps its streams, until another tab is shown.
 */
export function stream(
  { path, on, link = () => {}, whileHidden = true }: StreamOptions,
): () => void {
  const tabs = new BroadcastChannel("leadhand");
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let delay = FIRST_DELAY_MS;

  function open(): void {
    disconnect();
    const opened = new EventSource(path());
    source = opened;
    opened.onopen = () => {
      delay = FIRST_DELAY_MS;
      reachable.value = true;
      link("live");
    };
    for (const [event, take] of Object.entries(on)) {
      opened.addEventListener(event, ({ data }: MessageEvent<string>) => {
        if (source === opened) take(JSON.parse(data));
      });
    }
    // The browser reconnects by itself, but not after a response that is not a stream.
    opened.onerror = () => {
      if (source !== opened) return;
      disconnect();
      link(document.hidden ? "paused" : "reconnecting");
      if (document.hidden) return;
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

  function onShown(): void {
    if (document.hidden) {
      if (!whileHidden) disconnect();
      return;
    }
    tabs.postMessage("shown");
    if (source !== null) return;
    link("connecting");
    open();
  }

  tabs.onmessage = () => {
    if (!document.hidden) return;
    disconnect();
    link("paused");
  };
  document.addEventListener("visibilitychange", onShown);
  addEventListener("online", onShown);
  if (document.hidden) link("paused");
  else onShown();
  return () => {
    disconnect();
    tabs.close();
    document.removeEventListener("visibilitychange", onShown);
    removeEventListener("online", onShown);
  };
}
