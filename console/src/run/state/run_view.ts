// The view of one run as signals: one for each of its parts and one for each step, so that a change draws only what it
// changes. No DOM, no clock, no network.

import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { countsOf, isRunning, type Lane } from "./lanes.ts";
import { type Change, merged, type Order, type View } from "./view.ts";

export interface KeyedOrder extends Order {
  readonly key: string;
}

type Part = "run" | "spend" | "orders" | "todos" | "artifacts";
const PARTS: readonly Part[] = ["run", "spend", "orders", "todos", "artifacts"];

export class RunView {
  readonly runId: string;
  readonly run: Signal<View["run"]>;
  readonly spend: Signal<View["spend"]>;
  readonly orders: Signal<View["orders"]>;
  readonly todos: Signal<View["todos"]>;
  readonly artifacts: Signal<View["artifacts"]>;
  /** The number of the last event. */
  readonly seq: Signal<number>;
  /** When the last event happened. */
  readonly last: Signal<string>;
  /** A signal for each step, in the order of the log. */
  readonly lanes: Signal<readonly ReadonlySignal<Lane>[]> = signal([]);

  /** All steps: a component that reads it is drawn again when any of them changes. */
  readonly steps: ReadonlySignal<readonly Lane[]> = computed(() =>
    this.lanes.value.map((lane) => lane.value)
  );
  readonly counts: ReadonlySignal<ReturnType<typeof countsOf>> = computed(() =>
    countsOf(this.steps.value)
  );
  /** Whether an attempt is running. */
  readonly active: ReadonlySignal<boolean> = computed(() => this.steps.value.some(isRunning));
  /** The work orders in the order of the log. */
  readonly issued: ReadonlySignal<readonly KeyedOrder[]> = computed(() =>
    Object.entries(this.orders.value)
      .map(([key, order]) => ({ ...order, key }))
      .sort((one, other) => one.seq - other.seq)
  );

  #lanes = new Map<string, Signal<Lane>>();

  constructor(view: View) {
    this.runId = view.run_id;
    this.run = signal(view.run);
    this.spend = signal(view.spend);
    this.orders = signal(view.orders);
    this.todos = signal(view.todos);
    this.artifacts = signal(view.artifacts);
    this.seq = signal(view.last_seq);
    this.last = signal(view.last_at);
    this.replace(view);
  }

  /** When the run began, in milliseconds. */
  get startedAt(): number {
    return Date.parse(this.run.value.created_at);
  }

  /** When the last event happened, in milliseconds; never before the run began. */
  get lastAt(): number {
    return Math.max(this.startedAt, Date.parse(this.last.value));
  }

  /** Return a step; undefined for one that the run does not have. */
  step(key: string): Lane | undefined {
    this.lanes.value; // subscribes to steps that appear
    return this.#lanes.get(key)?.value;
  }

  /** Replace the whole view. */
  replace(view: View): void {
    batch(() => {
      for (const part of PARTS) this[part].value = view[part] as never;
      this.#lanes = new Map(
        Object.entries(view.steps).map(([key, step]) => [key, signal({ ...step, key })]),
      );
      this.#sort();
      this.#end(view.last_seq, view.last_at);
    });
  }

  /** Apply a change unless it was applied before; return whether it was new. */
  apply({ seq, at, patch: { steps = {}, ...patch } }: Change): boolean {
    if (seq <= this.seq.peek()) return false;
    batch(() => {
      for (const part of PARTS) {
        if (part in patch) {
          this[part].value = merged<unknown>(this[part].peek(), patch[part]) as never;
        }
      }
      let moved = false;
      for (const [key, step] of Object.entries(steps)) {
        const lane = this.#lanes.get(key);
        if (lane && step) lane.value = merged(lane.peek(), step);
        else if (step) this.#lanes.set(key, signal({ ...step, key } as Lane));
        else this.#lanes.delete(key);
        moved ||= !lane || !step || step.order !== undefined; // an order adopts what began before it
      }
      if (moved) this.#sort();
      this.#end(seq, at);
    });
    return true;
  }

  #sort(): void {
    this.lanes.value = [...this.#lanes.values()].sort((one, other) =>
      one.peek().seq - other.peek().seq || one.peek().position - other.peek().position
    );
  }

  #end(seq: number, at: string): void {
    this.seq.value = seq;
    this.last.value = at;
  }
}
