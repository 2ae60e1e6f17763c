// The selection on the run screen. The URL holds it, so that a link or a reload restores it.

import { computed } from "@preact/signals";
import { place, setQuery, withQuery } from "../router.ts";
import { type Kind, KINDS } from "./event_pages.ts";

export type TabName = "answer" | "inspector" | "order";
export const TABS: readonly TabName[] = ["answer", "inspector", "order"];

export interface Chosen {
  /** The id of the chosen assignment, "" for none. */
  readonly worker: string;
  readonly seq: number | null;
  readonly tab: TabName;
  readonly filter: string;
  readonly kinds: readonly Kind[];
  /** Show what failed and what waits on top of the timeline. */
  readonly problemsFirst: boolean;
}

export const chosen = computed((): Chosen => {
  const { query } = place.value;
  const seq = Number(query.get("seq"));
  const tab = query.get("tab") as TabName | null;
  const worker = query.get("worker") ?? "";
  return {
    worker,
    seq: Number.isSafeInteger(seq) && seq > 0 ? seq : null,
    tab: tab && TABS.includes(tab) ? tab : worker || seq > 0 ? "inspector" : "answer",
    filter: query.get("filter") ?? "",
    kinds: (query.get("show") ?? "").split(",").filter((kind): kind is Kind =>
      KINDS.some((known) => known === kind)
    ),
    problemsFirst: query.get("first") === "problems",
  };
});

export function chooseWorker(key: string): void {
  setQuery({ worker: key, seq: null, tab: "inspector" });
}

export function chooseEvent(seq: number, worker = ""): void {
  setQuery({ seq, worker: worker || chosen.value.worker || null, tab: "inspector" });
}

export function chooseTab(tab: TabName): void {
  setQuery({ tab });
}

export function chooseNothing(): void {
  setQuery({ worker: null, seq: null, tab: null });
}

export function setFilter(filter: string): void {
  setQuery({ filter: filter || null });
}

export function toggleKind(kind: Kind): void {
  const { kinds } = chosen.value;
  const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind];
  setQuery({ show: next.join(",") || null });
}

export function toggleProblemsFirst(): void {
  setQuery({ first: chosen.value.problemsFirst ? null : "problems" });
}

/** Return a link to an event on this screen, without anything else that is chosen. */
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
