import type { Handlers } from "../follow.ts";
import type { Card, Entry as LogEntry, RunDocument } from "../documents.ts";
import { Problem } from "../problem.ts";
import { sampleLog } from "./sample_log.ts";
import { placed, RunStore, type Service } from "./store.ts";

const LOG = sampleLog({ subtasks: 20 }) as unknown as LogEntry[];

/** A service in which time passes only when it is told to. */
class World implements Service {
  time = 0;
  /** How much time passes at each look at the clock. */
  haste = 0;
  isHidden = false;
  visible = LOG.length;
  documents = 0;
  frames: (() => void)[] = [];
  timers: { at: number; act: () => void }[] = [];
  streams: { after: number; handlers: Handlers; closed: boolean }[] = [];
  failing: Problem | null = null;

  getRun(): Promise<RunDocument> {
    if (this.failing) return Promise.reject(this.failing);
    this.documents += 1;
    const document = { run_id: "run_1", status: "running", last_seq: this.visible };
    return Promise.resolve(document as unknown as RunDocument);
  }
  getCards() {
    return Promise.resolve([]);
  }
  getEvents(_runId: string, after: number) {
    const events = LOG.slice(after, this.visible);
    return Promise.resolve({ events, next_after: null, last_seq: this.visible });
  }
  follow(_runId: string, after: number, handlers: Handlers) {
    const stream = { after, handlers, closed: false };
    this.streams.push(stream);
    return { close: () => void (stream.closed = true) };
  }
  frame(act: () => void) {
    this.frames.push(act);
  }
  later(ms: number, act: () => void) {
    const timer = { at: this.time + ms, act };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
  now() {
    return this.time += this.haste;
  }
  hidden() {
    return this.isHidden;
  }

  /** Let so many milliseconds pass: timers that are due, a frame, and what was promised. */
  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.act();
    if (!this.isHidden) { for (const act of this.frames.splice(0)) act(); }
    for (let round = 0; round < 10; round += 1) await Promise.resolve();
  }

  get stream(): Handlers {
    return this.streams.at(-1)!.handlers;
  }
}

async function opened(): Promise<{ world: World; store: RunStore }> {
  const world = new World();
  const store = new RunStore("run_1", world);
  await store.open();
  return { world, store };
}

function equal(found: unknown, wanted: unknown, what = "value"): void {
  if (!Object.is(found, wanted)) throw new Error(`${what}: ${found} instead of ${wanted}`);
}

Deno.test("the document comes first, and the log is followed from its beginning", async () => {
  const { world, store } = await opened();
  equal(store.document.value?.run_id, "run_1");
  equal(world.streams.length, 1);
  equal(world.streams[0]!.after, 0);
});

async function drawnInASecond(old: number): Promise<number> {
  const world = new World();
  world.visible = old;
  const store = new RunStore("run_1", world);
  await store.open();
  let drawn = 0;
  store.version.subscribe(() => drawn += 1);
  drawn = 0;
  for (let frame = 0; frame < 60; frame += 1) { // sixty frames, an event in each
    world.stream.event(LOG[frame]!);
    await world.pass(1000 / 60);
  }
  const inTime = drawn;
  await world.pass(300);
  equal(store.model.seq, 60);
  return inTime;
}

Deno.test("what comes between two frames is drawn as one batch, fifteen times a second at most", async () => {
  const drawn = await drawnInASecond(0);
  if (drawn > 16 || drawn < 10) throw new Error(`drawn ${drawn} times`);
});

Deno.test("what happened before the screen was opened is drawn four times a second at most", async () => {
  const drawn = await drawnInASecond(60);
  if (drawn > 5 || drawn < 3) throw new Error(`drawn ${drawn} times`);
});

Deno.test("much that comes at once is folded in slices, in order, and drawn when all of it is", async () => {
  const { world, store } = await opened();
  const many = sampleLog({ subtasks: 400, seed: 2 }) as unknown as LogEntry[];
  const drawn: number[] = [];
  store.version.subscribe(() => void drawn.push(store.model.seq));
  for (const entry of many) world.stream.event(entry);
  world.haste = 3; // a piece takes 3 ms: three of them fill a slice
  let slices = 0;
  for (let before = -1; store.model.seq > before && slices < 100; slices += 1) {
    before = store.model.seq;
    world.stream.event(many[10]!); // sent again in between: it does no harm
    await world.pass(300);
    if (store.model.seq - before > 400) throw new Error(`${store.model.seq - before} in a slice`);
  }
  equal(store.model.seq, many.length);
  equal(store.model.log.map((row) => row.seq).join(), many.map((entry) => entry.seq).join());
  equal(drawn.join(), `0,${many.length}`, "drawn at");
});

Deno.test("live text is put at its offset, and what stood from there on goes", () => {
  let text = "";
  for (const [offset, piece] of [[0, "The "], [4, "answer"], [4, "answer"]] as const) {
    text = placed(text, { offset, text: piece });
  }
  equal(text, "The answer");
  equal(placed(text, { offset: 0, text: "" }), "", "begun anew");
  equal(placed(text, { offset: 0, text: "An" }), "An", "shown anew from its beginning");
  equal(placed("", { offset: 3, text: "late" }), "   late", "joined in the middle");
});

Deno.test("the draft shown is the newest one", async () => {
  const { world, store } = await opened();
  world.stream.delta({ attempt: "compose/a1", offset: 0, text: "One" });
  world.stream.delta({ attempt: "compose/a2", offset: 0, text: "Two" });
  await world.pass(300);
  equal(store.draft.value?.text, "Two");
  world.stream.delta({ attempt: "compose/a2", offset: 3, text: " by two" });
  await world.pass(300);
  equal(store.draft.value?.text, "Two by two", "a later piece joins what came before");
  world.stream.delta({ attempt: "compose/a2", offset: 0, text: "" });
  await world.pass(300);
  await world.pass(0);
  equal(store.draft.value?.text, "", "begun anew");
});

Deno.test("many events that the document tells of cost one fetch of it a second later", async () => {
  const { world } = await opened();
  const before = world.documents;
  for (const entry of LOG) world.stream.event(entry);
  await world.pass(70);
  equal(world.documents, before, "at once");
  await world.pass(1_000);
  equal(world.documents, before + 1, "a second later");
  await world.pass(5_000);
  equal(world.documents, before + 1, "then no more");
});

Deno.test("a run that is over is followed again once its log has grown", async () => {
  const { world, store } = await opened();
  world.visible = 100;
  for (const entry of LOG.slice(0, 100)) world.stream.event(entry);
  world.stream.end({ status: "partial", last_seq: 100 });
  await world.pass(70);
  await world.pass(5_100);
  equal(world.streams.length, 1, "nothing new");
  world.visible = 104; // somebody asked for a retry, here or elsewhere
  await world.pass(5_100);
  equal(world.streams.length, 2, "followed again");
  await world.pass(70);
  equal(store.model.seq, 104);
});

Deno.test("what a verb answered is looked after at once", async () => {
  const { world, store } = await opened();
  world.visible = 100;
  for (const entry of LOG.slice(0, 100)) world.stream.event(entry);
  world.stream.end({ status: "partial", last_seq: 100 });
  await world.pass(70);
  world.visible = 101;
  store.take({ ...store.document.value!, last_seq: 101 });
  await world.pass(1_000);
  equal(world.streams.length, 2);
});

Deno.test("a question that was answered here is gone at once", async () => {
  const { world, store } = await opened();
  const card = (id: string) => ({ id }) as unknown as Card;
  store.cards.value = [card("one"), card("two")];
  store.answered("one");
  equal(store.cards.value.map((each) => each.id).join(), "two");
  const before = world.documents;
  await world.pass(1_000);
  equal(world.documents, before + 1, "and the service is asked what is open");
});

Deno.test("a hidden tab goes on counting, without a frame and without a stream of its own", async () => {
  const { world, store } = await opened();
  world.isHidden = true;
  world.visible = 50;
  await world.pass(5_100);
  equal(store.model.seq, 50);
  equal(world.streams.length, 1);
});

Deno.test("a run that is not there is not asked for again; a service that failed is", async () => {
  for (const [status, asked] of [[404, 0], [503, 1]] as const) {
    const world = new World();
    world.failing = new Problem({ status, code: "x", title: "x" });
    const store = new RunStore("run_1", world);
    await store.open();
    equal(store.problem.value?.status, status);
    world.failing = null;
    await world.pass(6_000);
    equal(world.documents, asked, `after ${status}`);
    equal(world.streams.length, asked, `followed after ${status}`);
  }
});

Deno.test("a store that is closed follows nothing and asks for nothing", async () => {
  const { world, store } = await opened();
  store.close();
  equal(world.streams[0]!.closed, true);
  const before = world.documents;
  await world.pass(60_000);
  equal(world.documents, before);
});
