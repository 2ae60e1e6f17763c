// Test how the subtasks of work orders are compared.

import assert from "node:assert/strict";
import type { KeyedOrder, Lane } from "./model.ts";
import { isKept, rowsOf } from "./order_rows.ts";

const orders = ["wo-001", "wo-002", "wo-003"].map((key) => ({ key }) as KeyedOrder);

function lane(key: string, status: Lane["status"], more: Partial<Lane> = {}): Lane {
  const order = key.split(".")[0];
  return { key, order, status, counts: true, name: "price", args: {}, needs: [], ...more } as Lane;
}

const changesOf = (lanes: readonly Lane[]) =>
  rowsOf(orders, lanes).map(({ cells }) => cells.map((cell) => cell?.change ?? null));

Deno.test("a subtask is kept, repeated, changed or dropped by each later order", () => {
  const lanes = [
    lane("wo-001.0", "completed"),
    lane("wo-001.1", "failed"),
    lane("wo-001.2", "dropped"),
    lane("wo-002.0", "failed", { repairs: "wo-001.1" }),
    lane("wo-003.0", "completed", { repairs: "wo-002.0", args: { sku: "7" } }),
  ];
  assert.deepEqual(changesOf(lanes), [
    ["Planned", "Kept", "Kept"],
    ["Planned", "Repeated", "Changed"],
    ["Planned", "Dropped", "Dropped"],
  ]);
  assert.deepEqual(rowsOf(orders, lanes)[1]!.cells[2]!.lines, ['sku: added, "7"']);
  assert.deepEqual(rowsOf(orders, lanes).map(isKept), [true, false, false]);
});

Deno.test("a subtask that a later order adds has no cells before it", () => {
  const lanes = [lane("wo-001.0", "completed"), lane("wo-002.0", "completed")];
  assert.deepEqual(changesOf(lanes)[1], [null, "Added", "Kept"]);
  assert.equal(isKept(rowsOf(orders, lanes)[1]!), false);
});

Deno.test("steps that are not subtasks are left out", () => {
  assert.deepEqual(changesOf([lane("wo-001.0", "completed", { counts: false })]), []);
});
