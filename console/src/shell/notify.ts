// Notifications of the browser about runs: opt-in, and only while the tab is hidden.

import { effect } from "@preact/signals";
import { getRuns } from "../api.ts";
import { capitalized, shortened } from "../formats.ts";
import { isOver } from "../run/state/view.ts";
import { go } from "../router.ts";
import { saved } from "../saved.ts";
import type { RunLine } from "../wire.ts";

const EVERY_MS = 5000;
const LOOKED_AT = 50;
const MAX_TITLE = 80;

/** Whether this browser shows notifications. */
export const notifying = saved<{ on: boolean }>("notifications", { on: false }, "local");

export interface News {
  readonly runId: string;
  readonly title: string;
  readonly body: string;
}

/** What is known of a run: how many questions and approvals are open, and whether it is over. */
type Known = ReadonlyMap<string, { readonly asking: number; readonly over: boolean }>;

export function knownOf(lines: readonly RunLine[]): Known {
  return new Map(
    lines.map(({ run_id, asking, status }) => [run_id, { asking, over: isOver(status) }]),
  );
}

/** Return what has happened since: runs that ask, and runs that ended. */
export function newsOf(before: Known, lines: readonly RunLine[]): readonly News[] {
  return lines.flatMap((line) => {
    const last = before.get(line.run_id) ?? { asking: 0, over: false };
    const body = shortened(line.name || line.request, MAX_TITLE);
    const news = (title: string) => [{ runId: line.run_id, title, body }];
    if (line.asking > last.asking) return news("A run waits for you");
    if (isOver(line.status) && !last.over) {
      return news(`Run ${capitalized(line.status).toLowerCase()}`);
    }
    return [];
  });
}

/** Ask for the permission of the browser; return whether notifications are on. */
export async function turnOn(): Promise<boolean> {
  const on = "Notification" in globalThis && await Notification.requestPermission() === "granted";
  notifying.value = { on };
  return on;
}

function show({ runId, title, body }: News): void {
  // Of several hidden tabs, only one is heard: the others replace its notification by the same.
  const shown = new Notification(title, { body, tag: `leadhand ${runId} ${title}` });
  shown.onclick = () => {
    globalThis.focus();
    go(`/runs/${encodeURIComponent(runId)}`);
    shown.close();
  };
}

/** Look for news while the tab is hidden, as long as notifications are on. */
export function startNotifying(): void {
  let known: Known | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function look(): Promise<void> {
    clearTimeout(timer);
    if (!document.hidden || !notifying.value.on) {
      known = null;
      return;
    }
    try {
      const { runs } = await getRuns({ limit: LOOKED_AT });
      if (known !== null && document.hidden) newsOf(known, runs).forEach(show);
      known = new Map([...(known ?? []), ...knownOf(runs)]);
    } catch {
      // The service does not answer, or the person is logged out: the next look tries again.
    }
    timer = setTimeout(look, EVERY_MS);
  }
  document.addEventListener("visibilitychange", look);
  effect(() => {
    if (notifying.value.on) look();
  });
}
