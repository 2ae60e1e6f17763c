// Test the places of subtasks in the graph of their order.

import assert from "node:assert/strict";
import { placed } from "./graph.ts";

const places = (needs: { [key: string]: string[] }) =>
  Object.fromEntries(
    placed(Object.entries(needs).map(([key, needs]) => ({ key, needs })))
      .map(({ node, column, row }) => [node.key, [column, row]]),
  );

Deno.test("a subtask is right of all that it needs, and beside the first of it", () => {
  assert.deepEqual(places({ a: [], b: [], c: ["a", "b"], d: ["b"], e: ["c", "a"] }), {
    a: [0, 0],
    b: [0, 1],
    c: [1, 0],
    d: [1, 1],
    e: [2, 0],
  });
});

Deno.test("needs of other orders and cycles are placed too", () => {
  assert.deepEqual(places({ a: ["elsewhere"] }), { a: [0, 0] });
  assert.equal(Object.keys(places({ a: ["b"], b: ["a"] })).length, 2);
});

Deno.test("a long chain does not exhaust the stack", () => {
  const chain = Object.fromEntries(
    Array.from({ length: 1000 }, (_, at) => [`n${at}`, at ? [`n${at - 1}`] : []]),
  );
  assert.deepEqual(places(chain).n999, [999, 0]);
});
