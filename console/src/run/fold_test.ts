import type { Entry } from "./entry.ts";
import { applyBatch } from "./fold.ts";
import { labelOf, shortLabels } from "./lane.ts";
import { emptyModel, type Model } from "./model.ts";
import { randomness, sampleLog } from "./sample_log.ts";
import recorded from "./testdata/run.json" with { type: "json" };

const INTERRUPTION = { message: "the run was paused", type: "interrupted", class: "lost" };

const real = recorded.entries as unknown as Entry[];

function folded(entries: Entry[]): Model {
  const model = emptyModel();
  applyBatch(model, entries);
  return model;
}

function equal(found: unknown, wanted: unknown, what = "value"): void {
  if (!Object.is(found, wanted)) {
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
}

/** A model as text, but for `version`, which counts batches. Lanes hold each other: they are told by their keys. */
function told(model: Model): string {
  return JSON.stringify({ ...model, version: 0 }, (name, value) => {
    if (name === "children") return value.map((lane: { key: string }) => lane.key);
    return value instanceof Map ? [...value.keys()] : value;
  }) + JSON.stringify([...model.questions.values()]) +
    JSON.stringify([...model.spend.reserved].map(([key, calls]) => [key, ...calls]));
}

/** The same log in batches of random lengths, some entries sent twice. */
function inBatches(entries: Entry[], seed: number): Model {
  const random = randomness(seed);
  const model = emptyModel();
  for (let at = 0; at < entries.length;) {
    const length = 1 + Math.floor(random() * 40);
    const again = Math.floor(random() * 10);
    applyBatch(model, entries.slice(Math.max(0, at - again), at + length));
    at += length;
  }
  return model;
}

Deno.test("a log gives the same model however it is cut into batches", () => {
  for (const entries of [real, sampleLog({ subtasks: 60, seed: 3 }), sampleLog({ subtasks: 9 })]) {
    const whole = told(folded(entries));
    for (let seed = 1; seed <= 25; seed += 1) equal(told(inBatches(entries, seed)), whole);
  }
});

Deno.test("a log folded twice is the log folded once, and says that nothing changed", () => {
  const model = folded(real);
  const before = told(model);
  const version = model.version;
  equal(applyBatch(model, real), false);
  equal(told(model), before);
  equal(model.version, version);
});

Deno.test("every beginning of a log keeps the counts in step with the lanes", () => {
  for (const entries of [real, sampleLog({ subtasks: 40, seed: 8 })]) {
    const model = emptyModel();
    for (const entry of entries) {
      applyBatch(model, [entry]);
      const own = model.lanes.filter((lane) => lane.subtask);
      for (const [status, number] of Object.entries(model.counts)) {
        equal(
          own.filter((lane) => lane.status === status).length,
          number,
          `${entry.seq} ${status}`,
        );
      }
      const standing = own.filter((lane) => lane.supersededBy === null);
      equal(model.total, standing.length, `${entry.seq} total`);
      equal(model.done, standing.filter((lane) => lane.status === "completed").length);
      equal(model.failed, standing.filter((lane) => lane.status === "failed").length);
      equal(model.leftOut, standing.filter((lane) => lane.status === "dropped").length);
      const running = model.lanes.flatMap((lane) => lane.attempts)
        .filter((attempt) => attempt.start !== null && attempt.end === null);
      equal(model.running, running.length, `${entry.seq} running`);
      const pending = [...model.questions.values()].filter((each) => each.status === "pending");
      equal(model.pending, pending.length, `${entry.seq} pending`);
    }
  }
});

Deno.test("a real run comes to what its own document says", () => {
  const model = folded(real);
  const { document } = recorded;
  equal(model.status, document.status, "status");
  equal(model.seq, document.last_seq, "last seq");
  equal(model.spend.requests, document.usage.requests, "requests");
  equal(model.spend.inputTokens, document.usage.input_tokens, "input tokens");
  equal(model.spend.nanousd / 1e9, document.usage.cost_usd, "cost");
  equal(model.spend.held, 0, "held");
  for (const state of document.work_states) {
    for (const [index, subtask] of Object.entries(state.subtask_state)) {
      const key = `${state.work_order_id}.${index}`;
      equal(model.byKey.get(key)?.status, subtask.status, key);
    }
  }
});

Deno.test("a real run shows its retries, its question, its child, its repairs and its two answers", () => {
  const model = folded(real);
  const called = model.lanes.find((lane) => lane.name === "call_up")!;
  equal(called.attempts.map((each) => each.outcome).join(), "failed,failed,ok", "attempts");
  equal(called.attempts[1]!.notBefore !== null, true, "a retry waits");
  const paid = model.lanes.find((lane) => lane.name === "pay_guide")!;
  equal(paid.attempts.map((each) => each.outcome).join(), "parked,ok", "payment");
  equal(model.pending, 0, "open questions");
  const child = model.lanes.find((lane) => lane.parent !== null)!;
  equal(child.label, "helper · tea (for ask_around)", "child");
  equal(model.byKey.get("wo-001.6")!.supersededBy, "wo-003.0", "repaired by");
  equal(model.byKey.get("wo-001.2")!.failure?.class, "insufficient", "found wanting");
  equal(model.orders.map((each) => each.order.repairs ?? "-").join(), "-,wo-001,wo-002", "orders");
  equal(model.finishes.map((each) => each.number).join(), "1,2", "answers");
  equal(model.retriable, 1, "what a retry would do");
  equal(model.cannot[0]?.what, "book a flight", "out of reach");
});

Deno.test("what waits for an answer is waiting until it comes", () => {
  const asked = real.findIndex((entry) => entry.type === "approval_requested");
  const before = folded(real.slice(0, asked + 1));
  equal(before.pending, 1);
  equal(before.byKey.get("wo-001.9")!.status, "waiting");
  equal(before.byKey.get("wo-001.9")!.note, "for a person's yes");
});

Deno.test("a run that is cancelled leaves nothing running", () => {
  const cut = sampleLog({ subtasks: 30, finished: false }).slice(0, 120);
  const at = new Date(Date.parse(cut.at(-1)!.at) + 1000).toISOString();
  const end: Entry = { seq: 121, at, type: "run_finished", status: "cancelled", answer: "" };
  const model = folded([...cut, end]);
  equal(model.counts.running + model.counts.pending + model.counts.waiting, 0);
  equal(model.running, 0);
  equal(model.counts.dropped > 0, true);
});

Deno.test("a pause stops what is under way, which is no failure and goes on afterwards", () => {
  const cut = sampleLog({ subtasks: 3, finished: false }).slice(0, 8);
  const events = [
    { type: "run_paused", reason: "asked for" },
    { type: "attempt_lost", failure: INTERRUPTION },
    { type: "attempt_settled", ok: false, final: false, failure: INTERRUPTION },
    { type: "run_resumed" },
    { type: "attempt_scheduled" },
  ];
  const started = cut.find((entry) => entry.type === "attempt_started") as { attempt: string };
  const key = started.attempt.slice(0, -"/a1".length);
  const last = Date.parse(cut.at(-1)!.at);
  const log = [...cut];
  for (const [index, event] of events.entries()) {
    const attempt = event.type === "attempt_scheduled" ? `${key}/a2` : `${key}/a1`;
    const at = new Date(last + (index ? 60_000 : 0)).toISOString();
    log.push({ seq: log.length + 1, at, attempt, ...event } as unknown as Entry);
  }
  const paused = folded(log.slice(0, cut.length + 1));
  equal(paused.running, 0, "running while paused");
  equal(paused.byKey.get(key)!.status, "pending", "while paused");
  const resumed = folded(log);
  const lane = resumed.byKey.get(key)!;
  equal(lane.status, "pending", "after the pause");
  equal(lane.attempts.map((each) => each.outcome).join(), "stopped,scheduled");
  equal(lane.attempts[0]!.end, last, "the bar ends with the pause");
  equal(lane.failure, null, "failure");
  equal(resumed.log.some((row) => row.problem), false, "problems");
});

Deno.test("what a person settles takes its questions and its children with it", () => {
  const parked = real.findIndex((entry) => entry.type === "approval_requested");
  const cut = real.slice(0, parked + 1);
  const skip: Entry = {
    seq: cut.length + 1,
    at: cut.at(-1)!.at,
    type: "subtask_resolved",
    subtask: "wo-001.9",
    by: "ann",
    reason: "too dear",
  };
  const model = folded([...cut, skip]);
  equal(model.pending, 0);
  equal(model.byKey.get("wo-001.9")!.status, "dropped");
  equal(model.byKey.get("wo-001.9")!.failure?.message, "ann left it undone: too dear");
});

Deno.test("an event of a type that is not known is kept as a row and does no harm", () => {
  const model = folded([
    ...real,
    { seq: real.length + 1, at: real.at(-1)!.at, type: "moon_rose" } as unknown as Entry,
  ]);
  equal(model.log.at(-1)!.words, "moon rose");
});

Deno.test("stretches in which nothing ran are remembered for the axis", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
  const attempt = (number: number) => `plan/a${number}`;
  const model = folded([
    {
      seq: 1,
      at: at(0),
      type: "assignment_issued",
      assignment: { assignment_id: "plan", role: "plan" },
    },
    { seq: 2, at: at(1), type: "attempt_started", attempt: attempt(1), host: "here" },
    { seq: 3, at: at(2), type: "attempt_parked", attempt: attempt(1), open_calls: [] },
    { seq: 4, at: at(90), type: "attempt_scheduled", attempt: attempt(2), continues: attempt(1) },
    { seq: 5, at: at(92), type: "attempt_started", attempt: attempt(2), host: "here" },
  ]);
  equal(model.idle.map(([from, to]) => to - from).join(), "90000");
});

Deno.test("labels tell siblings apart by what they were asked", () => {
  equal(labelOf("weather_tool", { location: "Paris" }), "weather_tool · Paris");
  equal(labelOf("add", { a: 1, deep: { b: [true, null, ""] } }), "add · 1, yes");
  equal(
    labelOf("use", { it: { $result: { subtask: "wo-001.0", path: "/raw" } } }),
    "use · from wo-001.0",
  );
  equal(labelOf("long", { text: "x".repeat(200) }).length, 80);
});

/** A list that counts how often it is looked at. */
function watched<T>(list: T[], looked: () => void): T[] {
  return new Proxy(list, {
    get(target, name) {
      looked();
      return Reflect.get(target, name);
    },
  });
}

/** A map that counts how many of its values were gone through; looking one up costs nothing. */
class WatchedMap<K, V> extends Map<K, V> {
  constructor(private readonly looked: () => void) {
    super();
  }
  override *values(): MapIterator<V> {
    for (const value of super.values()) {
      this.looked();
      yield value;
    }
  }
  override *entries(): MapIterator<[K, V]> {
    for (const entry of super.entries()) {
      this.looked();
      yield entry;
    }
  }
  override *keys(): MapIterator<K> {
    for (const key of super.keys()) {
      this.looked();
      yield key;
    }
  }
  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }
  override forEach(act: (value: V, key: K, map: Map<K, V>) => void): void {
    for (const [key, value] of this.entries()) act(value, key, this);
  }
}

/** How often, for each entry, the fold looks at what grows with the log. */
function looksAnEntry(entries: Entry[]): number {
  let looks = 0;
  const looked = () => void (looks += 1);
  const model = emptyModel();
  model.lanes = watched(model.lanes, looked);
  model.log = watched(model.log, looked);
  model.orders = watched(model.orders, looked);
  model.idle = watched(model.idle, looked);
  model.byKey = new WatchedMap(looked);
  model.questions = new WatchedMap(looked);
  for (let at = 0; at < entries.length; at += 50) applyBatch(model, entries.slice(at, at + 50));
  equal(model.seq, entries.length);
  return looks / entries.length;
}

Deno.test("short labels leave out what siblings share, and know which part will do alone", () => {
  const told = (...subtasks: Parameters<typeof shortLabels>[0]) =>
    shortLabels(subtasks).map(({ name, rest, tells }) => `${name} [${rest}] ${tells}`).join("; ");
  const paris = { name: "weather", args: { place: "Paris", day: "tomorrow" } };
  const lyon = { name: "weather", args: { place: "Lyon", day: "tomorrow" } };
  equal(told(paris), "weather [Paris, tomorrow] name", "alone");
  equal(told(paris, lyon), "weather [Paris] rest; weather [Lyon] rest");
  equal(
    told(paris, paris),
    "weather [Paris, tomorrow] null; weather [Paris, tomorrow] null",
    "twins",
  );
  const hotels = { name: "hotels", args: { place: "Paris" } };
  equal(
    told(paris, lyon, hotels),
    "weather [Paris] null; weather [Lyon] rest; hotels [Paris] name",
  );
  equal(told({ name: "think" }), "think [] name");
  const town = (number: number, place: string) => ({ name: `town_${number}`, args: { place } });
  equal(told(town(0, "Paris"), town(1, "Lyon")), "town_0 [Paris] rest; town_1 [Lyon] rest");
});

Deno.test("an entry costs the fold no more in a long log than in a short one", () => {
  const few = looksAnEntry(sampleLog({ subtasks: 200, seed: 4 }));
  const many = looksAnEntry(sampleLog({ subtasks: 1_600, seed: 4 }));
  // Eight times the entries: a fold that went through the lanes at an event would look eight times as often.
  if (many > 1.1 * few) throw new Error(`${few} looks an entry, then ${many}`);
});
