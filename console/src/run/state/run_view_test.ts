// Test the view of a run: merge patches, the order of lanes, and their labels.

import assert from "node:assert/strict";
import { effect } from "@preact/signals";
import { labelOf, splitLabel } from "./labels.ts";
import { firstProblemOf, idleOf, retriableOf } from "./lanes.ts";
import { RunView } from "./run_view.ts";
import { change, sampleStep, sampleView, START } from "./samples_test.ts";
import { merged } from "./view.ts";

Deno.test("a merge patch follows RFC 7396", () => {
  // The examples of the RFC's appendix whose target and patch are objects.
  const cases: [Record<string, unknown>, Record<string, unknown>, unknown][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, expected] of cases) {
    assert.deepEqual(merged(target, patch), expected);
  }
});

Deno.test("a name chosen by a model cannot change the prototype of an object", () => {
  const patch = JSON.parse('{"args": {"__proto__": {"hacked": true}, "place": "Paris"}}');
  const { args } = merged<{ args: { hacked?: boolean } }>({ args: {} }, patch);
  assert.equal(args.hacked, undefined);
  assert.equal(({} as { hacked?: boolean }).hacked, undefined);
  assert.deepEqual(args, { place: "Paris" });
});

Deno.test("a change is applied once, in the order of the log", () => {
  const model = new RunView(sampleView());
  const completed = change(3, { steps: { "wo-001.0": { status: "completed" } } });
  assert.equal(model.apply(completed), true);
  assert.equal(model.step("wo-001.0")?.status, "completed");
  assert.equal(model.seq.value, 3);
  assert.equal(
    model.apply(change(3, { steps: { "wo-001.0": { status: "failed" } } })),
    false,
  );
  assert.equal(model.step("wo-001.0")?.status, "completed");
});

Deno.test("lanes are in the order of the log, however their keys sort", () => {
  const view = sampleView(12);
  const plan = sampleStep({ seq: 1, order: undefined, worker: "plan" });
  const model = new RunView({ ...view, steps: { ...view.steps, "7": plan } });
  const keys = Array.from({ length: 12 }, (_, position) => `wo-001.${position}`);
  assert.deepEqual(model.steps.value.map((lane) => lane.key), ["7", ...keys]);
  model.apply(change(3, {
    steps: { "3": sampleStep({ seq: 3, parent: "wo-001.1" }) },
  }));
  assert.equal(model.steps.value.at(-1)?.key, "3");
});

Deno.test("a subtask that began before its order is placed in it when the order adopts it", () => {
  const { steps, ...rest } = sampleView(2);
  const early = Object.entries(steps).map(([key, each], at) => [
    key,
    { ...each, order: undefined, seq: 9 - at },
  ]);
  const view = new RunView({ ...rest, orders: {}, steps: Object.fromEntries(early) });
  const keys = () => view.steps.value.map((lane) => lane.key);
  assert.deepEqual(keys(), ["wo-001.1", "wo-001.0"]);
  view.apply(change(3, { steps: { "wo-001.0": { order: "wo-001", seq: 2 } } }));
  assert.deepEqual(keys(), ["wo-001.0", "wo-001.1"]);
});

Deno.test("a change of a step draws that step alone, and a change of the run none", () => {
  const view = new RunView(sampleView(3));
  const drawn: string[] = [];
  effect(() => void drawn.push(`list of ${view.lanes.value.length}`));
  for (const lane of view.lanes.value) effect(() => void drawn.push(lane.value.key));
  effect(() => void drawn.push(`run ${view.run.value.status}`));
  drawn.length = 0;
  view.apply(change(3, { steps: { "wo-001.1": { note: "slow" } } }));
  assert.deepEqual(drawn, ["wo-001.1"]);
  drawn.length = 0;
  view.apply(change(4, { run: { status: "partial" }, spend: { tokens: 7 } }));
  assert.deepEqual(drawn, ["run partial"]);
  drawn.length = 0;
  view.apply(change(5, { steps: { "wo-001.9": sampleStep({ seq: 5 }) } }));
  assert.deepEqual(drawn, ["list of 4"]);
});

Deno.test("stretches without a running attempt lie between attempts", () => {
  const model = new RunView(sampleView());
  const at = (second: number) => new Date(Date.parse(START) + second * 1_000).toISOString();
  const attempt = (from: number, to?: number) => ({
    started_at: at(from),
    ...to !== undefined && { ended_at: at(to) },
    outcome: to === undefined ? "running" : "ok",
    calls: {},
  });
  model.apply(
    change(3, { steps: { "wo-001.1": { attempts: { 1: attempt(2, 8), 2: attempt(30) } } } }),
  );
  assert.equal(model.active.value, true);
  model.apply(
    change(4, { steps: { "wo-001.0": { attempts: { 1: attempt(1, 5), 2: attempt(20, 25) } } } }),
  );
  assert.deepEqual(
    idleOf(model.steps.value),
    [[8, 20], [25, 30]].map((each) => each.map((s) => Date.parse(at(s)))),
  );
});

Deno.test("what a retry repeats, and the first problem, follow from the steps", () => {
  const model = new RunView(sampleView(3));
  assert.equal(retriableOf(model.steps.value), 0);
  assert.equal(firstProblemOf(model.steps.value), undefined);
  const failure = { message: "time is up", type: "timeout", class: "transient" };
  const calls = {
    5: { id: "c", kind: "tool", name: "look", began_at: START, failure, returned_seq: 6 },
  };
  model.apply(change(9, {
    steps: {
      "wo-001.0": {
        status: "failed",
        failure,
        settled_seq: 8,
        attempts: { 1: { failure, result_seq: 7, calls } },
      },
      "wo-001.1": {
        status: "failed",
        failure: { ...failure, type: "needs_failed" },
        settled_seq: 9,
      },
      "wo-001.2": { status: "dropped", by: "ann" },
    },
  }));
  assert.equal(retriableOf(model.steps.value), 2);
  assert.equal(firstProblemOf(model.steps.value), 6);
  assert.equal(model.counts.value("failed"), 2);
});

Deno.test("a removed step has no lane", () => {
  const model = new RunView(sampleView());
  model.apply(change(3, { steps: { "wo-001.0": null } }));
  assert.deepEqual(model.steps.value.map((lane) => lane.key), ["wo-001.1"]);
  assert.equal(model.step("wo-001.0"), undefined);
});

Deno.test("a label is a name with its arguments", () => {
  assert.equal(labelOf("weather_tool", { location: "Paris" }), "weather_tool · Paris");
  assert.equal(labelOf("add", { a: 1, deep: { b: [true, null, ""] } }), "add · 1, yes");
  assert.equal(
    labelOf("use", { it: { $result: { subtask: "wo-001.0", path: "/raw" } } }),
    "use · from wo-001.0",
  );
  assert.equal(labelOf("long", { text: "x".repeat(200) }).length, 80);
  assert.equal(labelOf("mail", { body: "Dear Ann,\n\n  hello\n" }), "mail · Dear Ann, hello");
});

Deno.test("what a model or a flow named is shown as words; subtasks keep the names of tools", () => {
  const words = (label: string, worker: string) => {
    const { name, rest } = splitLabel({ label, worker });
    return `${name} [${rest}]`;
  };
  assert.equal(words("lead", "lead"), "Lead []");
  const costs = "heat_pump_costs · What do they cost? (for lead)";
  assert.equal(words(costs, "subagent"), "Heat pump costs [What do they cost? (for lead)]");
  assert.equal(words("check_weather · Paris", "work"), "check_weather [Paris]");
});
