// What is selected on the run screen. The URL holds it, so that a link or a reload restores it.

import { computed } from "@preact/signals";
import { place, setQuery, withQuery } from "../router.ts";
import { type Kind, KINDS } from "./log/event_pages.ts";
import type { RunView } from "./state/run_view.ts";

const TABS = ["answer", "revisions", "inspector", "order", "usage", "todos", "artifacts"] as const;
export type TabName = typeof TABS[number];

/** The parts of the run of which a narrow screen shows one at a time. */
export const PARTS = ["details", "timeline", "events"] as const;
export type Part = typeof PARTS[number];

export interface Selection {
  /** The id of the selected step, "" for none. */
  readonly worker: string;
  readonly seq: number | null;
  /** The model call that is shown: the number of the event with which it began, or its id; "" for none. */
  readonly call: string;
  readonly tab: TabName;
  /** The path of the artifact that is shown, "" for none. */
  readonly file: string;
  readonly filter: string;
  readonly kinds: readonly Kind[];
  /** Show failed and waiting steps on top of the timeline. */
  readonly problemsFirst: boolean;
  /** What a narrow screen shows. */
  readonly part: Part;
  /** Show the answer alone. */
  readonly reading: boolean;
}

export const selection = computed((): Selection => {
  const { query } = place.value;
  const seq = Number(query.get("seq"));
  const worker = query.get("worker") ?? "";
  const kinds = (query.get("show") ?? "").split(",");
  return {
    worker,
    seq: Number.isSafeInteger(seq) && seq > 0 ? seq : null,
    tab: TABS.find((tab) => tab === query.get("tab")) ??
      (worker || seq > 0 || query.has("call") ? "inspector" : "answer"),
    call: query.get("call") ?? "",
    file: query.get("file") ?? "",
    filter: query.get("filter") ?? "",
    kinds: KINDS.filter((kind) => kinds.includes(kind)),
    problemsFirst: query.get("first") === "problems",
    part: PARTS.find((part) => part === query.get("part")) ?? "details",
    reading: query.has("read"),
  };
});

/** What is opened is a place in the history; `replace` is for steps from one to the next. */
export function selectWorker(key: string, { replace = false } = {}): void {
  setQuery({ worker: key, seq: null, call: null, tab: "inspector", part: null }, { replace });
}

/** Select an event, and the step that it is about, if any. */
export function selectEvent(seq: number, worker = "", { replace = false } = {}): void {
  const changes = {
    seq,
    worker: worker || selection.value.worker,
    call: null,
    tab: "inspector",
    part: null,
  };
  setQuery(changes, { replace });
}

/** Show the form that follows up the run, below its answer. */
export function showFollowUp(): void {
  setQuery({ worker: null, seq: null, call: null, tab: null, part: null }, { replace: false });
  requestAnimationFrame(() => document.querySelector<HTMLElement>(".follow-up textarea")?.focus());
}

/** Return the tabs to show: the selected one, and those that have something to show. */
export function tabsOf(view: RunView, selected: TabName): readonly TabName[] {
  const { flow } = view.run.value;
  const isResearch = flow === "research";
  const shown: Record<TabName, boolean> = {
    answer: true,
    revisions: flow === "report",
    inspector: true,
    usage: view.spend.value.requests > 0,
    order: flow === "work-order" || Object.keys(view.orders.value).length > 0,
    todos: isResearch || view.todos.value.length > 0,
    artifacts: isResearch || Object.keys(view.artifacts.value).length > 0,
  };
  return TABS.filter((tab) => shown[tab] || tab === selected);
}

export function selectTab(tab: TabName): void {
  setQuery({ tab });
}

export function clearSelection(): void {
  setQuery({ worker: null, seq: null, call: null, tab: null, file: null });
}

export function setFilter(filter: string): void {
  setQuery({ filter });
}

export function toggleKind(kind: Kind): void {
  const { kinds } = selection.value;
  const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind];
  setQuery({ show: next.join(",") });
}

export function toggleProblemsFirst(): void {
  setQuery({ first: selection.value.problemsFirst ? null : "problems" });
}

/** Return a link to an event on this screen, without any other selection. */
export function eventLink(seq: number): string {
  return `${place.value.path}?seq=${seq}`;
}

export function workerLink(key: string): string {
  return withQuery({ worker: key, seq: null, call: null, tab: "inspector", part: null });
}

/** Return a link to a model call, by the number of the event with which it began, or by its id. */
export function callLink(call: number | string): string {
  return withQuery({ call, seq: null, tab: "inspector", part: null });
}

/** Return the seq of an event that is cited as `e-19`; null for any other text. */
export function seqOf(eventId: string): number | null {
  const found = /^e-(\d+)$/.exec(eventId);
  return found ? Number(found[1]) : null;
}
