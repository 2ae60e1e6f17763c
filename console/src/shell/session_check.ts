// Asks who is here, and goes on asking while the service does not answer: that is how we see it come back.

import { effect } from "@preact/signals";
import { getSession } from "../api.ts";
import { reachable } from "../connection.ts";
import { session } from "../session.ts";

const PROBE_MS = 1500;

export function startSession(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function ask(): Promise<void> {
    clearTimeout(timer);
    try {
      session.value = await getSession();
    } catch {
      // Unreachable, or a server that fails: either way the header says so, and we ask again.
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
