// Fetch the session, and retry while the service does not answer, to notice when it is back.

import { effect } from "@preact/signals";
import { get } from "../api.ts";
import { reachable } from "../connection.ts";
import { session } from "../session.ts";

const PROBE_MS = 1500;

export function startSession(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function ask(): Promise<void> {
    clearTimeout(timer);
    try {
      session.value = await get("/api/session", {});
    } catch {
      // Unreachable or failing: the header shows it, and the session is fetched again.
      reachable.value = false;
    }
    if (!reachable.peek()) timer = setTimeout(ask, PROBE_MS);
  }
  ask();
  effect(() => {
    if (!reachable.value) {
      clearTimeout(timer);
      timer = setTimeout(ask, PROBE_MS);
    }
  });
}
