// The subtasks of all work orders side by side: what each order kept, repeated, changed, added and dropped.

import type { KeyedOrder, Lane } from "./model.ts";
import { differences } from "./order_change.ts";

/** The change that one order makes to a subtask. */
export type Change = "Planned" | "Kept" | "Repeated" | "Changed" | "Added" | "Dropped";

export interface Cell {
  readonly change: Change;
  /** The subtask of this order; null if the order has none for it. */
  readonly lane: Lane | null;
  /** What differs from the subtask that it repeats, a line each. */
  readonly lines: readonly string[];
}

export interface OrderRow {
  readonly first: Lane;
  /** A cell for each order; null in the orders before the one that added the subtask. */
  readonly cells: readonly (Cell | null)[];
}

/** Return a row for each subtask and what repeats it, in the order of the log. */
export function rowsOf(orders: readonly KeyedOrder[], lanes: readonly Lane[]): OrderRow[] {
  const chains = new Map<string, Lane[]>(); // by the key of every lane in it
  const all = new Set<Lane[]>();
  for (const lane of lanes) {
    if (!lane.counts || lane.order === undefined) continue;
    const chain = chains.get(lane.repairs ?? "") ?? [];
    chain.push(lane);
    chains.set(lane.key, chain);
    all.add(chain);
  }
  return [...all].map((chain) => {
    const cells: (Cell | null)[] = [];
    let before: Lane | null = null;
    for (const { key } of orders) {
      const lane = chain.find(({ order }) => order === key) ?? null;
      cells.push(cellOf(before, lane, cells.length === 0));
      before = lane ?? before;
    }
    return { first: chain[0]!, cells };
  });
}

function cellOf(before: Lane | null, lane: Lane | null, isFirst: boolean): Cell | null {
  if (lane === null) {
    if (before === null) return null;
    return { change: before.status === "completed" ? "Kept" : "Dropped", lane: null, lines: [] };
  }
  if (before === null) return { change: isFirst ? "Planned" : "Added", lane, lines: [] };
  const lines = differences(before, lane);
  return { change: lines.length > 0 ? "Changed" : "Repeated", lane, lines };
}

/** Return whether every later order kept the subtask of the first one. */
export function isKept({ cells: [first, ...later] }: OrderRow): boolean {
  return first != null && later.every((cell) => cell?.change === "Kept");
}
