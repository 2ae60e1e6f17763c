// The places of an order's subtasks in its graph: each is right of what it needs.

export interface Node {
  readonly key: string;
  readonly needs: readonly string[];
}

export interface Placed<T extends Node> {
  readonly node: T;
  readonly column: number;
  readonly row: number;
}

/** Return the columns and rows of nodes; a cycle, which no order has, does not hang it. */
export function placed<T extends Node>(nodes: readonly T[]): Placed<T>[] {
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const columns = new Map<string, number>();
  const columnOf = (node: T): number => {
    const known = columns.get(node.key);
    if (known !== undefined) return known;
    columns.set(node.key, 0); // of a node in a cycle
    const needs = node.needs.map((key) => byKey.get(key)).filter((need) => need !== undefined);
    const column = Math.max(0, ...needs.map((need) => columnOf(need) + 1));
    columns.set(node.key, column);
    return column;
  };
  const rows = new Map<number, number>();
  const places = new Map<string, Placed<T>>();
  // Beside the first of what it needs, where there is room.
  const sorted = [...nodes].sort((one, other) => columnOf(one) - columnOf(other));
  for (const node of sorted) {
    const column = columnOf(node);
    const beside = Math.min(...node.needs.map((key) => places.get(key)?.row ?? Infinity));
    const free = rows.get(column) ?? 0;
    const row = Number.isFinite(beside) ? Math.max(free, beside) : free;
    rows.set(column, row + 1);
    places.set(node.key, { node, column, row });
  }
  return nodes.map((node) => places.get(node.key)!);
}
