// What the store of a run needs of the world, as the browser gives it.

import { follow, getApprovals, getEvents, getRun, getView } from "../api.ts";
import { PAGE } from "./event_pages.ts";
import type { Service } from "./store.ts";

export const BROWSER: Service = {
  getView: (runId) => getView(runId),
  getRun: (runId) => getRun(runId),
  getCards: async (runId) => (await getApprovals(runId)).approvals,
  getEvents: async (runId, after) =>
    (await getEvents(runId, { after, limit: PAGE, brief: true })).events,
  getLastSeq: async (runId, after) => (await getEvents(runId, { after, limit: 1 })).last_seq,
  follow,
  frame: (act) => {
    requestAnimationFrame(act);
  },
  later: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
  now: () => performance.now(),
  hidden: () => document.hidden,
};
