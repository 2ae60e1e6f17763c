// What changes in any run, as it happens: one stream for all lists and counts of the page.

import { stream } from "./stream.ts";

/** Called with the ids of runs that changed; with null if any may have. */
type Listener = (runIds: ReadonlySet<string> | null) => void;

/** The events after which a list, a count or a run that was over looks different. */
const TYPES = [
  ...["run_started", "run_status_set", "run_finished", "run_changed", "run_claimed"],
  ...["run_requested", "order_issued", "step_settled", "step_requested"],
  ...["approval_requested", "approval_answered", "question_asked", "question_answered"],
];
/** Many events come at once; listeners learn of them together. */
const SOON_MS = 250;

const listeners = new Set<Listener>();
let close = () => {};
let changed: Set<string> | null = new Set();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Call back soon after runs changed, and when the stream has begun; return a function that stops it. All listeners of a
 * page share one stream, which a hidden tab gives up: once it is shown, the stream starts from the newest change.
 */
export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    close = stream({
      path: () => `/api/events/stream?${TYPES.map((type) => `type=${type}`).join("&")}`,
      on: { ready: () => tell(null), message: ({ run_id }) => tell(run_id) },
      whileHidden: false,
    });
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    close();
    clearTimeout(timer);
    timer = undefined;
  };
}

function tell(runId: string | null): void {
  if (runId === null) changed = null; // nothing is known of the time before the stream
  else changed?.add(runId);
  timer ??= setTimeout(() => {
    const runs = changed;
    changed = new Set();
    timer = undefined;
    listeners.forEach((listener) => listener(runs));
  }, SOON_MS);
}
