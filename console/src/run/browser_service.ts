// What the store of a run needs of the world, as the browser gives it.

import { follow, getApprovals, getEvents, getRun } from "../api.ts";
import type { Service } from "./store.ts";

const PAGE = 500;

export const BROWSER: Service = {
  getRun: (runId) => getRun(runId),
  getCards: async (runId) => (await getApprovals(runId)).approvals,
  getEvents: (runId, after) => getEvents(runId, { after, limit: PAGE, brief: true }),
  follow: (runId, after, handlers) => follow(runId, after, { brief: true }, handlers),
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
