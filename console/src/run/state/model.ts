// The view of one run as the screen draws it, and the patches that change it. No DOM, no clock, no network.

import { plainLabel, type ShortLabel, shortLabels } from "./labels.ts";
import { type Attempt, type Change, merge, type Order, type Step, type View } from "./view.ts";
import { type Shown, shownStatus } from "../words.ts";

/** A step with its id: a lane of the timeline. */
export interface Lane extends Step {
  key: string;
  /** The label without what it shares with its siblings. */
  short: ShortLabel;
}

export interface KeyedOrder extends Order {
  readonly key: string;
}

export interface NumberedAttempt extends Attempt {
  readonly number: number;
}

export class Model {
  /** Set by `replace`, before anything reads the model. */
  view!: View;
  /** All steps in the order of the log. */
  lanes: Lane[] = [];
  byKey: Map<string, Lane> = new Map();
  /** Increases when a step appears, changes its status or is replaced. */
  statuses = 0;

  get seq(): number {
    return this.view.last_seq;
  }

  /** When the run began, in milliseconds. */
  get startedAt(): number {
    return Date.parse(this.view.run.created_at);
  }

  /** When the last event happened, in milliseconds; never before the run began. */
  get lastAt(): number {
    return Math.max(this.startedAt, Date.parse(this.view.last_at));
  }

  get orders(): KeyedOrder[] {
    return Object.entries(this.view.orders)
      .map(([key, order]) => ({ ...order, key }))
      .sort((one, other) => one.seq - other.seq);
  }

  /** Stretches between attempts in which none ran, in milliseconds. */
  get idle(): [number, number][] {
    const ran = this.lanes.flatMap((lane) => Object.values(lane.attempts))
      .map(({ started_at = "", ended_at = "later" }) => [started_at, ended_at] as const)
      .filter(([from]) => from !== "")
      .sort(([one], [other]) => one < other ? -1 : 1); // times in UTC sort like texts
    const found: [number, number][] = [];
    let end = ran[0]?.[0] ?? "";
    for (const [from, to] of ran) {
      if (from > end) found.push([Date.parse(end), Date.parse(from)]);
      if (to > end) end = to;
    }
    return found;
  }

  /** Whether an attempt is running. */
  get running(): boolean {
    return this.lanes.some((lane) => lastAttempt(lane)?.outcome === "running");
  }

  /** Replace the whole view. */
  replace(view: View): void {
    this.view = view;
    this.lanes = [];
    this.byKey = new Map();
    this.#addLanes(Object.keys(view.steps));
    this.statuses += 1;
  }

  /** Apply a change unless it was applied before; return whether it was new. */
  apply({ seq, at, patch }: Change): boolean {
    if (seq <= this.seq) return false;
    merge(this.view as unknown as Record<string, unknown>, {
      ...patch,
      last_seq: seq,
      last_at: at,
    });
    const changed = patch.steps as Record<string, Partial<Step> | null> | undefined;
    if (!changed) return true;
    const keys = Object.keys(changed);
    const regroups = (key: string) =>
      changed[key] === null || (changed[key]!.order !== undefined && this.byKey.has(key));
    if (keys.some(regroups)) this.replace(this.view);
    else {
      this.#addLanes(keys.filter((key) => !this.byKey.has(key)));
      const visible = (key: string) => changed[key]!.status ?? changed[key]!.superseded_by;
      if (keys.some((key) => visible(key) !== undefined)) this.statuses += 1;
    }
    return true;
  }

  childrenOf(key: string): Lane[] {
    return this.lanes.filter((lane) => lane.parent === key);
  }

  /** Add a lane for each new step. */
  #addLanes(keys: readonly string[]): void {
    if (keys.length === 0) return;
    const orders = new Set<string>();
    for (const key of keys) {
      const lane = this.view.steps[key] as Lane;
      lane.key = key;
      lane.short = plainLabel(lane);
      this.lanes.push(lane);
      this.byKey.set(key, lane);
      if (lane.order !== undefined && lane.counts) orders.add(lane.order);
    }
    this.lanes.sort((one, other) => one.seq - other.seq || one.position - other.position);
    if (orders.size > 0) this.#shortenLabels(orders);
  }

  #shortenLabels(orders: ReadonlySet<string>): void {
    const siblings = Map.groupBy(this.lanes.filter((lane) => lane.counts), (lane) => lane.order);
    for (const order of orders) {
      const lanes = siblings.get(order)!;
      const shorts = shortLabels(lanes);
      lanes.forEach((lane, at) => lane.short = shorts[at]!);
    }
  }
}

/** Return the attempts of a step, oldest first. */
export function attemptsOf(lane: Lane): NumberedAttempt[] {
  return Object.entries(lane.attempts)
    .map(([number, attempt]) => ({ ...attempt, number: Number(number) }));
}

export function lastAttempt(lane: Lane): Attempt | undefined {
  return Object.values(lane.attempts).at(-1);
}

/** Return how many subtasks are shown with a status, or in all; replaced ones do not count. */
export function countsOf(model: Model): (status?: Shown) => number {
  let total = 0;
  const counts = new Map<Shown, number>();
  for (const lane of model.lanes) {
    if (!lane.counts || lane.superseded_by !== undefined) continue;
    const status = shownStatus(lane);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    total += 1;
  }
  return (status) => status === undefined ? total : counts.get(status) ?? 0;
}

/** Return how many subtasks a retry of all failed ones repeats: what they blocked is repeated with them. */
export function retriableOf(model: Model): number {
  return model.lanes.filter((lane) =>
    lane.counts && lane.superseded_by === undefined && lane.failure?.type !== "needs_failed" &&
    (lane.status === "failed" || lane.status === "dropped")
  ).length;
}

/** Return the number of the first event that says that a call, an attempt or a step failed. */
export function firstProblemOf(model: Model): number | undefined {
  const found = model.lanes.flatMap((lane) => [
    lane.failure && lane.settled_seq,
    ...Object.values(lane.attempts).flatMap(({ failure, result_seq, calls }) => [
      failure && result_seq,
      ...Object.values(calls).map((call) => call.failure && call.returned_seq),
    ]),
  ]).filter((seq) => seq !== undefined);
  return found.length > 0 ? found.reduce((one, other) => Math.min(one, other)) : undefined;
}
