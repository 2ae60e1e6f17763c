// One lane of the timeline: an assignment, its attempts and their calls; with the words and shapes of its states.

import type { Args, Failure, OpenCall, Verdict } from "./entry.ts";

export type LaneStatus =
  | "pending"
  | "running"
  | "waiting"
  | "retrying"
  | "completed"
  | "failed"
  | "dropped";

export type Outcome = "scheduled" | "running" | "ok" | "failed" | "parked" | "lost" | "stopped";

export interface Call {
  id: string;
  kind: "model" | "tool";
  name: string;
  args: Args | null;
  effect: string;
  began: number;
  ended: number | null;
  ok: boolean | null;
  failure: Failure | null;
  summary: string;
  tokens: number;
  seq: number;
  returnedSeq: number | null;
}

export interface Attempt {
  id: string;
  number: number;
  /** When it was decided on, and when it may start at the earliest (a retry's wait). */
  scheduledAt: number;
  notBefore: number | null;
  start: number | null;
  end: number | null;
  outcome: Outcome;
  continues: string | null;
  feedback: string;
  host: string;
  failure: Failure | null;
  openCalls: OpenCall[];
  calls: Call[];
  resultSeq: number | null;
}

export interface Lane {
  key: string;
  name: string;
  label: string;
  /** The label where room is short: what it shares with its siblings is left out. */
  short: Short;
  role: string;
  /** The order under which it stands, "" before the first. */
  order: string;
  subtask: boolean;
  tool: string | null;
  args: Args;
  needs: string[];
  parent: string | null;
  children: Lane[];
  status: LaneStatus;
  note: string;
  failure: Failure | null;
  verdict: Verdict | null;
  by: string;
  repairs: string | null;
  supersededBy: string | null;
  attempts: Attempt[];
  /** The seq of the event that settled it. */
  settledSeq: number | null;
  firstSeq: number;
}

export function newLane(
  given: Pick<Lane, "key" | "name" | "label" | "role" | "order" | "firstSeq"> & Partial<Lane>,
): Lane {
  return {
    subtask: false,
    tool: null,
    args: {},
    needs: [],
    short: shortOf(given.label),
    parent: null,
    children: [],
    status: "pending",
    note: "",
    failure: null,
    verdict: null,
    by: "",
    repairs: null,
    supersededBy: null,
    attempts: [],
    settledSeq: null,
    ...given,
  };
}

export function newAttempt(id: string, number: number, scheduledAt: number): Attempt {
  return {
    id,
    number,
    scheduledAt,
    notBefore: null,
    start: null,
    end: null,
    outcome: "scheduled",
    continues: null,
    feedback: "",
    host: "",
    failure: null,
    openCalls: [],
    calls: [],
    resultSeq: null,
  };
}

export function isOpen(status: LaneStatus): boolean {
  return status === "pending" || status === "running" || status === "waiting" ||
    status === "retrying";
}

/** States in the order in which a person wants to see them. */
export const URGENCY: Record<LaneStatus, number> = {
  failed: 0,
  waiting: 1,
  retrying: 2,
  dropped: 3,
  running: 4,
  pending: 5,
  completed: 6,
};

export const STATUS_WORDS: Record<LaneStatus, string> = {
  pending: "to come",
  running: "running",
  waiting: "waiting",
  retrying: "retrying",
  completed: "done",
  failed: "failed",
  dropped: "left out",
};

/** A label in two parts, of which one may have to be cut. */
export interface Short {
  readonly name: string;
  /** What was asked; "" where the name says all. */
  readonly rest: string;
  /** The part that alone tells it from everything else in its order; null where it takes both. */
  readonly tells: "name" | "rest" | null;
}

const BETWEEN = " · ";

function shortOf(label: string): Short {
  const at = label.indexOf(BETWEEN);
  return at < 0
    ? { name: label, rest: "", tells: null }
    : { name: label.slice(0, at), rest: label.slice(at + BETWEEN.length), tells: null };
}

/** The short labels of an order's subtasks: of those with one name, only the arguments in which they differ. */
export function shortLabels(subtasks: readonly { name: string; args?: Args }[]): Short[] {
  const values = new Map<string, Set<string>>(); // by name and argument
  const slot = (name: string, argument: string) => `${name}\n${argument}`;
  const numbers = counted(subtasks.map((subtask) => subtask.name));
  for (const { name, args } of subtasks) {
    for (const [argument, value] of Object.entries(args ?? {})) {
      const at = slot(name, argument);
      const seen = values.get(at) ?? new Set();
      values.set(at, seen.add(JSON.stringify(value)));
    }
  }
  const found = subtasks.map(({ name, args }) => {
    const entries = Object.entries(args ?? {});
    const differing = entries.filter(([argument]) => values.get(slot(name, argument))!.size > 1);
    const kept = numbers.get(name)! > 1 && differing.length ? differing : entries;
    return shortOf(labelOf(name, Object.fromEntries(kept)));
  });
  const rests = counted(found.map((short) => short.rest));
  const stems = counted(found.map((short) => stemOf(short.name)));
  return found.map((short) => {
    if (stems.get(stemOf(short.name)) === 1) return { ...short, tells: "name" };
    return short.rest && rests.get(short.rest) === 1 ? { ...short, tells: "rest" } : short;
  });
}

/** `town_1` and `town_2` are told apart by what was asked, not by their numbers. */
function stemOf(name: string): string {
  return name.replace(/\d+$/, "");
}

function counted(texts: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const text of texts) numbers.set(text, (numbers.get(text) ?? 0) + 1);
  return numbers;
}

const LONGEST_LABEL = 80;

/** A subtask for people: its name and its arguments, so that siblings can be told apart. */
export function labelOf(name: string, args: Args | undefined): string {
  const told = Object.values(args ?? {}).map(argument).filter((text) => text !== "").join(", ");
  const label = told ? `${name}${BETWEEN}${told}` : name;
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label;
}

function argument(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(argument).filter(Boolean).join(", ");
  if (typeof value === "object") {
    const reference = (value as { $result?: { subtask?: string } }).$result;
    if (reference?.subtask) return `from ${reference.subtask}`;
    return Object.values(value).map(argument).filter(Boolean).join(", ");
  }
  return String(value);
}
