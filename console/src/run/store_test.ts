// Test the store of a run: what it fetches, when it draws, and when it follows.

import type { ApprovalCard, RunDocument } from "../wire.ts";
import type { Handlers } from "../follow.ts";
import { Problem } from "../problem.ts";
import { change, sampleView } from "./sample_view.ts";
import { placed, RunStore, type Service } from "./store.ts";
import type { RunStatus } from "./view.ts";

/** A service in which time passes only when the test says so. */
class World implements Service {
  time = 0;
  isHidden = false;
  /** The last event of the run. */
  last = 2;
  status: RunStatus = "running";
  views = 0;
  documents = 0;
  frames: (() => void)[] = [];
  timers: { at: number; act: () => void }[] = [];
  streams: { after: number; handlers: Handlers; closed: boolean; until: number }[] = [];
  failing: Problem | null = null;

  getView() {
    if (this.failing) return Promise.reject(this.failing);
    this.views += 1;
    const view = sampleView(2, this.last);
    return Promise.resolve({ ...view, run: { ...view.run, status: this.status } });
  }
  getRun(): Promise<RunDocument> {
    if (this.failing) return Promise.reject(this.failing);
    this.documents += 1;
    const document = { run_id: "run_1", status: "running", last_seq: this.last };
    return Promise.resolve(document as unknown as RunDocument);
  }
  getCards() {
    return Promise.resolve([]);
  }
  getEvents() {
    return Promise.resolve([]);
  }
  getLastSeq() {
    return Promise.resolve(this.last);
  }
  follow(_runId: string, after: number, handlers: Handlers) {
    const stream = { after, handlers, closed: false, until: 0 };
    this.streams.push(stream);
    return {
      close: () => void (stream.closed = true),
      catchUp: (seq: number) => void (stream.until = seq),
    };
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
    return this.time;
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

Deno.test("one snapshot shows the run, and the stream follows after it", async () => {
  const world = new World();
  world.last = 40;
  const store = new RunStore("run_1", world);
  const opening = store.open();
  equal(store.version.value, 0, "nothing to show yet");
  await opening;
  equal(world.views, 1);
  equal(store.live.view.run.request, "Weather");
  equal(world.streams.length, 1);
  equal(world.streams[0]!.after, 40);
  equal(store.document.value?.run_id, "run_1");
});

Deno.test("a finished run is shown by its snapshot alone, without a stream", async () => {
  const world = new World();
  world.status = "succeeded";
  const store = new RunStore("run_1", world);
  let shown = "";
  store.version.subscribe((version) => shown ||= version > 0 ? store.model.view.run.status : "");
  await store.open();
  equal(shown, "succeeded", "in the first picture");
  equal(world.streams.length, 0);
  equal(store.link.value, "ended");
});

Deno.test("what comes between two frames is drawn as one, fifteen times a second at most", async () => {
  const { world, store } = await opened();
  let drawn = 0;
  store.version.subscribe(() => drawn += 1);
  drawn = 0;
  for (let seq = 3; seq < 63; seq += 1) { // sixty frames, an event in each
    world.stream.change(change(seq));
    await world.pass(1000 / 60);
  }
  if (drawn > 16 || drawn < 10) throw new Error(`drawn ${drawn} times`);
  await world.pass(300);
  equal(store.model.seq, 62);
});

Deno.test("events of the stream are in the log, with their words", async () => {
  const { world, store } = await opened();
  world.stream.change(change(3));
  equal(store.log.row(3)?.words.title, "Changed");
  equal(store.log.known, 1);
});

Deno.test("a snapshot of the stream replaces what was shown", async () => {
  const { world, store } = await opened();
  world.stream.snapshot(sampleView(5, 2_000));
  await world.pass(100);
  equal(store.live.lanes.length, 5);
  equal(store.live.seq, 2_000);
  world.stream.change(change(2_001));
  equal(store.model.seq, 2_001);
});

Deno.test("a verb's answer shows at once, until the view is newer", async () => {
  const { world, store } = await opened();
  store.take({ ...store.document.value!, status: "paused", last_seq: 3 });
  equal(store.status, "paused");
  world.stream.change(change(3, { run: { status: "running" } }));
  await world.pass(100);
  equal(store.status, "running");
});

Deno.test("live text is put at its offset, and what was there from the offset on is replaced", () => {
  let text = "";
  for (const [offset, piece] of [[0, "The "], [4, "answer"], [4, "answer"]] as const) {
    text = placed(text, { offset, text: piece });
  }
  equal(text, "The answer");
  equal(placed(text, { offset: 0, text: "" }), "", "started again");
  equal(placed(text, { offset: 0, text: "An" }), "An", "shown again from its beginning");
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
  equal(store.draft.value?.text, "", "started again");
});

Deno.test("many events that change the document cost one fetch of it a second later", async () => {
  const { world } = await opened();
  const before = world.documents;
  for (let seq = 3; seq < 60; seq += 1) {
    world.stream.change(change(seq, { approvals: { one: {} } }));
  }
  await world.pass(70);
  equal(world.documents, before, "at once");
  await world.pass(1_000);
  equal(world.documents, before + 1, "a second later");
  await world.pass(5_000);
  equal(world.documents, before + 1, "then no more");
  world.stream.change(change(60, { spend: { tokens: 5 } }));
  await world.pass(70);
  await world.pass(5_000);
  equal(world.documents, before + 1, "spending is in the view alone");
});

Deno.test("a run that is over is followed again once its log has grown", async () => {
  const { world, store } = await opened();
  world.last = 3;
  world.stream.change(change(3, { run: { status: "partial" } }));
  world.stream.end({ status: "partial", last_seq: 3 });
  await world.pass(70);
  await world.pass(5_100);
  equal(world.streams.length, 1, "nothing new");
  world.last = 7; // somebody asked for a retry, here or elsewhere
  await world.pass(5_100);
  equal(world.streams.length, 2, "followed again");
  equal(world.streams[1]!.after, 3);
  equal(store.model.seq, 3);
});

Deno.test("a verb on a finished run is followed at once", async () => {
  const { world, store } = await opened();
  world.last = 3;
  world.stream.change(change(3, { run: { status: "partial" } }));
  world.stream.end({ status: "partial", last_seq: 3 });
  await world.pass(70);
  world.last = 4;
  store.take({ ...store.document.value!, last_seq: 4 });
  await world.pass(1_000);
  equal(world.streams.length, 2);
});

Deno.test("an approval that was answered here is gone at once", async () => {
  const { world, store } = await opened();
  const card = (id: string) => ({ id }) as unknown as ApprovalCard;
  store.cards.value = [card("one"), card("two")];
  store.answered("one");
  equal(store.cards.value.map((each) => each.id).join(), "two");
  const before = world.documents;
  await world.pass(1_000);
  equal(world.documents, before + 1, "and the service is asked what is open");
});

Deno.test("a hidden tab catches up when there is something new, and draws without a frame", async () => {
  const { world, store } = await opened();
  world.isHidden = true;
  await world.pass(5_100);
  equal(world.streams[0]!.until, 0, "nothing new");
  world.last = 50;
  await world.pass(5_100);
  equal(world.streams.length, 1);
  equal(world.streams[0]!.until, 50);
  const before = store.version.value;
  world.stream.change(change(50));
  await world.pass(0);
  equal(store.version.value, before + 1);
});

Deno.test("a run that does not exist is not fetched again; one that could not be fetched is", async () => {
  for (const [status, asked] of [[404, 0], [503, 1]] as const) {
    const world = new World();
    world.failing = new Problem({ status, code: "x", title: "x" });
    const store = new RunStore("run_1", world);
    await store.open();
    equal(store.problem.value?.status, status);
    world.failing = null;
    await world.pass(6_000);
    equal(world.views, asked, `after ${status}`);
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
