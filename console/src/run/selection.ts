// What is selected on the run screen. The URL holds it, so that a link or a reload restores it.

import { computed } from "@preact/signals";
import { place, setQuery, withQuery } from "../router.ts";
import { type Kind, KINDS } from "./event_pages.ts";
import type { View } from "./view.ts";

const TABS = ["answer", "revisions", "inspector", "order", "todos", "artifacts"] as const;
export type TabName = typeof TABS[number];

export interface Selection {
  /** The id of the selected assignment, "" for none. */
  readonly worker: string;
  readonly seq: number | null;
  readonly tab: TabName;
  /** The path of the artifact that is shown, "" for none. */
  readonly file: string;
  readonly filter: string;
  readonly kinds: readonly Kind[];
  /** Show failed and waiting assignments on top of the timeline. */
  readonly problemsFirst: boolean;
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
      (worker || seq > 0 ? "inspector" : "answer"),
    file: query.get("file") ?? "",
    filter: query.get("filter") ?? "",
    kinds: KINDS.filter((kind) => kinds.includes(kind)),
    problemsFirst: query.get("first") === "problems",
  };
});

export function selectWorker(key: string): void {
  setQuery({ worker: key, seq: null, tab: "inspector" });
}

/** Select an event, and the assignment that it is about, if any. */
export function selectEvent(seq: number, worker = ""): void {
  setQuery({ seq, worker: worker || selection.value.worker, tab: "inspector" });
}

/** Return the tabs to show: the selected one, and those that have something to show. */
export function tabsOf(view: View, selected: TabName): readonly TabName[] {
  const isResearch = view.run.flow === "research";
  const shown: Record<TabName, boolean> = {
    answer: true,
    revisions: view.run.flow === "report",
    inspector: true,
    order: view.run.flow === "work-order" || Object.keys(view.orders).length > 0,
    todos: isResearch || Object.keys(view.todos).length > 0,
    artifacts: isResearch || Object.keys(view.artifacts).length > 0,
  };
  return TABS.filter((tab) => shown[tab] || tab === selected);
}

export function selectTab(tab: TabName): void {
  setQuery({ tab });
}

export function clearSelection(): void {
  setQuery({ worker: null, seq: null, tab: null, file: null });
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
  return withQuery({ worker: key, seq: null, tab: "inspector" });
}

/** Return the seq of an event that is cited as `e-19`; null for any other text. */
export function seqOf(eventId: string): number | null {
  const found = /^e-(\d+)$/.exec(eventId);
  return found ? Number(found[1]) : null;
}
