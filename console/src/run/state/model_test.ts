// Test the view of a run: merge patches, the order of lanes, and their labels.

import assert from "node:assert/strict";
import { labelOf, plainLabel, shortLabels } from "./labels.ts";
import { countsOf, firstProblemOf, Model, retriableOf } from "./model.ts";
import { change, sampleStep, sampleView, START } from "./samples_test.ts";
import { merge } from "./view.ts";

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
    merge(target, patch);
    assert.deepEqual(target, expected);
  }
});

Deno.test("a name chosen by a model cannot change the prototype of an object", () => {
  const target: Record<string, unknown> = { args: {} };
  merge(target, JSON.parse('{"args": {"__proto__": {"hacked": true}, "place": "Paris"}}'));
  assert.equal((target.args as { hacked?: boolean }).hacked, undefined);
  assert.equal(({} as { hacked?: boolean }).hacked, undefined);
  assert.deepEqual(target.args, { place: "Paris" });
});

Deno.test("a change is applied once, in the order of the log", () => {
  const model = new Model();
  model.replace(sampleView());
  const completed = change(3, { steps: { "wo-001.0": { status: "completed" } } });
  assert.equal(model.apply(completed), true);
  assert.equal(model.byKey.get("wo-001.0")?.status, "completed");
  assert.equal(model.seq, 3);
  assert.equal(
    model.apply(change(3, { steps: { "wo-001.0": { status: "failed" } } })),
    false,
  );
  assert.equal(model.byKey.get("wo-001.0")?.status, "completed");
});

Deno.test("lanes are in the order of the log, however their keys sort", () => {
  const model = new Model();
  const view = sampleView(12);
  const plan = sampleStep({ seq: 1, order: undefined, worker: "plan" });
  model.replace({ ...view, steps: { ...view.steps, "7": plan } });
  const keys = Array.from({ length: 12 }, (_, position) => `wo-001.${position}`);
  assert.deepEqual(model.lanes.map((lane) => lane.key), ["7", ...keys]);
  model.apply(change(3, {
    steps: { "3": sampleStep({ seq: 3, parent: "wo-001.1" }) },
  }));
  assert.equal(model.lanes.at(-1)?.key, "3");
  assert.deepEqual(model.childrenOf("wo-001.1").map((lane) => lane.key), ["3"]);
});

Deno.test("subtasks that began before their order get short labels when it adopts them", () => {
  const model = new Model();
  const { steps, ...view } = sampleView(2);
  const early = Object.entries(steps).map(([key, each], at) => {
    const args = { place: ["Paris", "Lyon"][at]!, day: "tomorrow" };
    return [key, { ...each, name: "weather", label: "weather", args, order: undefined }];
  });
  model.replace({ ...view, orders: {}, steps: Object.fromEntries(early) });
  const adopted = { order: "wo-001" };
  model.apply(change(3, { steps: { "wo-001.0": adopted, "wo-001.1": adopted } }));
  assert.deepEqual(model.lanes.map((lane) => lane.order), ["wo-001", "wo-001"]);
  assert.deepEqual(model.lanes.map((lane) => lane.short.rest), ["Paris", "Lyon"]);
});

Deno.test("only a changed status draws the fleet again", () => {
  const model = new Model();
  model.replace(sampleView());
  const before = model.statuses;
  model.apply(change(3, { steps: { "wo-001.0": { note: "slow" } }, spend: { tokens: 7 } }));
  assert.equal(model.statuses, before);
  model.apply(change(4, { steps: { "wo-001.0": { status: "running" } } }));
  assert.equal(model.statuses, before + 1);
  model.apply(change(5, { steps: { "wo-001.1": { superseded_by: "wo-002.0" } } }));
  assert.equal(model.statuses, before + 2);
});

Deno.test("stretches without a running attempt lie between attempts", () => {
  const model = new Model();
  model.replace(sampleView());
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
  assert.equal(model.running, true);
  model.apply(
    change(4, { steps: { "wo-001.0": { attempts: { 1: attempt(1, 5), 2: attempt(20, 25) } } } }),
  );
  assert.deepEqual(
    model.idle,
    [[8, 20], [25, 30]].map((each) => each.map((s) => Date.parse(at(s)))),
  );
});

Deno.test("what a retry repeats, and the first problem, follow from the steps", () => {
  const model = new Model();
  model.replace(sampleView(3));
  assert.equal(retriableOf(model), 0);
  assert.equal(firstProblemOf(model), undefined);
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
  assert.equal(retriableOf(model), 2);
  assert.equal(firstProblemOf(model), 6);
  assert.equal(countsOf(model)("failed"), 2);
});

Deno.test("a removed step has no lane", () => {
  const model = new Model();
  model.replace(sampleView());
  model.apply(change(3, { steps: { "wo-001.0": null } }));
  assert.deepEqual(model.lanes.map((lane) => lane.key), ["wo-001.1"]);
  assert.equal(model.byKey.has("wo-001.0"), false);
});

Deno.test("a change of known steps does not visit the others", () => {
  const model = new Model();
  model.replace(sampleView(1_000));
  let visits = 0;
  model.lanes = new Proxy(model.lanes, {
    get(target, name) {
      visits += 1;
      return Reflect.get(target, name);
    },
  });
  for (let seq = 3; seq < 503; seq += 1) {
    model.apply(change(seq, { steps: { [`wo-001.${seq}`]: { status: "running" } } }));
  }
  assert.equal(visits, 0);
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

Deno.test("short labels leave out what siblings share, and name the part that is unique", () => {
  const shorten = (...subtasks: Parameters<typeof shortLabels>[0]) =>
    shortLabels(subtasks).map(({ name, rest, unique }) => `${name} [${rest}] ${unique}`).join("; ");
  const paris = { name: "weather", args: { place: "Paris", day: "tomorrow" } };
  const lyon = { name: "weather", args: { place: "Lyon", day: "tomorrow" } };
  assert.equal(shorten(paris), "weather [Paris, tomorrow] name", "alone");
  assert.equal(shorten(paris, lyon), "weather [Paris] rest; weather [Lyon] rest");
  assert.equal(
    shorten(paris, paris),
    "weather [Paris, tomorrow] null; weather [Paris, tomorrow] null",
    "twins",
  );
  const hotels = { name: "hotels", args: { place: "Paris" } };
  assert.equal(
    shorten(paris, lyon, hotels),
    "weather [Paris] null; weather [Lyon] rest; hotels [Paris] name",
  );
  assert.equal(shorten({ name: "think" }), "think [] name");
  const town = (number: number, place: string) => ({ name: `town_${number}`, args: { place } });
  assert.equal(
    shorten(town(0, "Paris"), town(1, "Lyon")),
    "town_0 [Paris] rest; town_1 [Lyon] rest",
  );
});

Deno.test("what a model or a flow named is shown as words; subtasks keep the names of tools", () => {
  const words = (label: string, worker: string) => {
    const { name, rest } = plainLabel({ label, worker });
    return `${name} [${rest}]`;
  };
  assert.equal(words("lead", "lead"), "Lead []");
  const costs = "heat_pump_costs · What do they cost? (for lead)";
  assert.equal(words(costs, "subagent"), "Heat pump costs [What do they cost? (for lead)]");
  assert.equal(words("check_weather · Paris", "work"), "check_weather [Paris]");
});
