// The service and the browser, as the store of a run uses them.

import { getApprovalsOf, getEvents, getRun, getView } from "../../api.ts";
import { follow } from "./follow.ts";
import { PAGE_SIZE } from "../log/event_pages.ts";
import type { Service } from "./store.ts";

export const BROWSER: Service = {
  getView,
  getRun,
  getCards: async (runId) => (await getApprovalsOf(runId)).approvals,
  getEvents: async (runId, after) =>
    (await getEvents(runId, { after, limit: PAGE_SIZE, brief: true })).events,
  getLastSeq: async (runId, after) => (await getEvents(runId, { after, limit: 1 })).last_seq,
  follow,
  frame: (callback) => {
    requestAnimationFrame(callback);
  },
  later: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  now: () => performance.now(),
  hidden: () => document.hidden,
};
