// Test the store of a run: what it fetches, when it draws, and when it follows the run.

import assert from "node:assert/strict";
import type { ApprovalCard, RunDocument } from "../../wire.ts";
import type { Handlers } from "./follow.ts";
import { Problem } from "../../problem.ts";
import { change, sampleView } from "./samples_test.ts";
import { RunStore, type Service, splice } from "./store.ts";
import type { RunStatus } from "./view.ts";

/** A service whose time passes only when the test calls pass(). */
class FakeService implements Service {
  time = 0;
  /** The last event of the run. */
  last = 2;
  status: RunStatus = "running";
  flow = "work-order";
  views = 0;
  documents = 0;
  frames: (() => void)[] = [];
  timers: { at: number; callback: () => void }[] = [];
  streams: { after: number; handlers: Handlers; closed: boolean }[] = [];
  failing: Problem | null = null;
  /** What the open approvals wait for; a test replaces it to hold them back. */
  cards: Promise<readonly ApprovalCard[]> = Promise.resolve([]);

  getView() {
    if (this.failing) return Promise.reject(this.failing);
    this.views += 1;
    const view = sampleView(2, this.last);
    return Promise.resolve({ ...view, run: { ...view.run, status: this.status, flow: this.flow } });
  }
  getRun(): Promise<RunDocument> {
    if (this.failing) return Promise.reject(this.failing);
    this.documents += 1;
    const document = { run_id: "run_1", status: "running", last_seq: this.last };
    return Promise.resolve(document as unknown as RunDocument);
  }
  getCards() {
    return this.cards;
  }
  getEvents() {
    return Promise.resolve([]);
  }
  follow(_runId: string, after: number, handlers: Handlers) {
    const stream = { after, handlers, closed: false };
    this.streams.push(stream);
    return () => void (stream.closed = true);
  }
  frame(callback: () => void) {
    this.frames.push(callback);
  }
  later(ms: number, callback: () => void) {
    this.timers.push({ at: this.time + ms, callback });
  }

  /** Advance the clock: run the timers that are due, a frame, and pending promises. */
  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.callback();
    for (const callback of this.frames.splice(0)) callback();
    for (let round = 0; round < 20; round += 1) await Promise.resolve();
  }

  get stream(): Handlers {
    return this.streams.at(-1)!.handlers;
  }
}

async function opened(flow = "work-order"): Promise<{ service: FakeService; store: RunStore }> {
  const service = new FakeService();
  service.flow = flow;
  const store = new RunStore("run_1", service);
  await store.open();
  return { service, store };
}

Deno.test("one snapshot shows the run, and the stream follows after it", async () => {
  const service = new FakeService();
  service.last = 40;
  const store = new RunStore("run_1", service);
  const opening = store.open();
  assert.equal(store.loaded.value, false, "not drawn before the snapshot");
  await opening;
  assert.equal(service.views, 1);
  assert.equal(store.view.run.value.request, "Weather");
  assert.equal(service.streams.length, 1);
  assert.equal(service.streams[0]!.after, 40);
  assert.equal(store.document.value?.run_id, "run_1");
});

Deno.test("a finished run is shown by its snapshot alone, without a stream", async () => {
  const service = new FakeService();
  service.status = "succeeded";
  const store = new RunStore("run_1", service);
  await store.open();
  assert.equal(store.status.value, "succeeded");
  assert.equal(service.streams.length, 0);
  assert.equal(store.link.value, "ended");
});

Deno.test("the open approvals are at least as new as the document", async () => {
  const service = new FakeService();
  const card = { approval_id: "approval_1" } as ApprovalCard;
  service.getRun = async () => {
    await Promise.resolve();
    service.cards = Promise.resolve([card]); // requested while the document is on its way
    return { run_id: "run_1", last_seq: service.last } as RunDocument;
  };
  const store = new RunStore("run_1", service);
  await store.open();
  assert.deepEqual(store.cards.value, [card]);
});

Deno.test("what arrives before a frame is drawn once", async () => {
  const { service, store } = await opened();
  let drawn = -1; // it is called at once
  store.view.spend.subscribe(() => drawn += 1);
  for (let seq = 3; seq < 63; seq += 1) {
    service.stream.change(change(seq, { spend: { tokens: seq } }));
  }
  assert.equal(drawn, 0);
  await service.pass(16);
  assert.equal(drawn, 1);
  assert.equal(store.view.seq.value, 62);
});

Deno.test("events of the stream are added to the log", async () => {
  const { service, store } = await opened();
  service.stream.change(change(3));
  await service.pass(16);
  assert.equal(store.log.get(3)?.words.title, "Changed");
  assert.equal(store.log.loaded.value, 1);
});

Deno.test("a snapshot of the stream replaces the view", async () => {
  const { service, store } = await opened();
  service.stream.snapshot(sampleView(5, 2_000));
  await service.pass(100);
  assert.equal(store.view.lanes.value.length, 5);
  assert.equal(store.view.seq.value, 2_000);
  service.stream.change(change(2_001));
  await service.pass(16);
  assert.equal(store.view.seq.value, 2_001);
});

Deno.test("the result of an action shows at once, until the view is newer", async () => {
  const { service, store } = await opened();
  store.update({ ...store.document.value!, status: "paused", last_seq: 3 });
  assert.equal(store.status.value, "paused");
  service.stream.change(change(3, { run: { status: "running" } }));
  await service.pass(100);
  assert.equal(store.status.value, "running");
});

Deno.test("a piece of live text replaces the text from its offset on", () => {
  let text = "";
  for (const [offset, piece] of [[0, "The "], [4, "answer"], [4, "answer"]] as const) {
    text = splice(text, { offset, text: piece });
  }
  assert.equal(text, "The answer");
  assert.equal(splice(text, { offset: 0, text: "" }), "", "started again");
  assert.equal(splice(text, { offset: 0, text: "An" }), "An", "repeated from the start");
  assert.equal(splice("", { offset: 3, text: "late" }), "   late", "joined late");
});

Deno.test("the draft is the newest live text", async () => {
  const { service, store } = await opened();
  service.stream.delta({ attempt: "compose/a1", offset: 0, text: "One" });
  service.stream.delta({ attempt: "compose/a2", offset: 0, text: "Two" });
  await service.pass(300);
  assert.equal(store.draft.value?.text, "Two");
  service.stream.delta({ attempt: "compose/a2", offset: 3, text: " by two" });
  await service.pass(300);
  assert.equal(store.draft.value?.text, "Two by two", "a later piece is appended");
  service.stream.delta({ attempt: "compose/a2", offset: 0, text: "" });
  await service.pass(300);
  await service.pass(0);
  assert.equal(store.draft.value?.text, "", "started again");
});

Deno.test("many events that change the document cause one fetch of it", async () => {
  const { service } = await opened();
  const before = service.documents;
  for (let seq = 3; seq < 60; seq += 1) {
    service.stream.change(change(seq, { orders: { "wo-001": { seq } } }));
  }
  await service.pass(70);
  assert.equal(service.documents, before, "at once");
  await service.pass(1_000);
  assert.equal(service.documents, before + 1, "soon");
  await service.pass(5_000);
  assert.equal(service.documents, before + 1, "then no more");
  service.stream.change(change(60, { spend: { tokens: 5 } }));
  await service.pass(70);
  await service.pass(5_000);
  assert.equal(service.documents, before + 1, "the spending is only in the view");
});

Deno.test("the document of a report is fetched when a stage is settled, not at its calls", async () => {
  for (const [flow, fetches] of [["report", 2], ["work-order", 1]] as const) {
    const { service } = await opened(flow);
    const draft = (patch: object) => ({ steps: { "wo-001.0": patch } });
    service.stream.change(change(3, draft({ note: "web_search", attempts: {} })));
    await service.pass(70);
    await service.pass(2_000);
    assert.equal(service.documents, 1, "fetched by open()");
    service.stream.change(change(4, draft({ status: "completed", settled_seq: 4 })));
    await service.pass(70);
    await service.pass(1_000);
    assert.equal(service.documents, fetches, flow);
  }
});

Deno.test("the draft of an earlier answer is forgotten when the run goes on", async () => {
  const { service, store } = await opened();
  service.stream.delta({ attempt: "compose/a1", offset: 0, text: "One" });
  service.stream.change(change(3, { run: { status: "partial" } }));
  await service.pass(16);
  assert.equal(store.draft.value?.text, "One", "until the document has the answer");
  service.stream.change(change(4, { run: { status: "running" } }));
  await service.pass(16);
  assert.equal(store.draft.value, null);
});

Deno.test("a run that is over is followed again once its document is newer", async () => {
  const { service, store } = await opened();
  service.last = 3;
  service.stream.change(change(3, { run: { status: "partial" } }));
  service.stream.end();
  await service.pass(70);
  await service.pass(1_000);
  assert.equal(store.link.value, "ended");
  assert.equal(service.streams.length, 1, "nothing new");
  service.last = 7; // somebody retried it
  store.refresh();
  await service.pass(1_000);
  assert.equal(service.streams.length, 2, "followed again");
  assert.equal(service.streams[1]!.after, 3);
});

Deno.test("a finished run is followed at once after an action", async () => {
  const { service, store } = await opened();
  service.last = 3;
  service.stream.change(change(3, { run: { status: "partial" } }));
  service.stream.end();
  await service.pass(70);
  service.last = 4;
  store.update({ ...store.document.value!, last_seq: 4 });
  assert.equal(service.streams.length, 2);
});

Deno.test("an approval that is requested while the first document is fetched is shown", async () => {
  const service = new FakeService();
  let answer: (cards: readonly ApprovalCard[]) => void = () => {};
  service.cards = new Promise((resolve) => answer = resolve);
  const store = new RunStore("run_1", service);
  const opening = store.open();
  await service.pass(0);
  service.stream.change({ ...change(3), type: "approval_requested" });
  await service.pass(70); // drawn, while the document is still on its way
  service.cards = Promise.resolve([{ approval_id: "one" } as unknown as ApprovalCard]);
  answer([]);
  await opening;
  await service.pass(1_000);
  assert.equal(store.cards.value.length, 1);
});

Deno.test("an approval that was answered here disappears at once", async () => {
  const { service, store } = await opened();
  const card = (id: string) => ({ approval_id: id }) as unknown as ApprovalCard;
  store.cards.value = [card("one"), card("two")];
  store.removeCard("one");
  assert.equal(store.cards.value.map((each) => each.approval_id).join(), "two");
  const before = service.documents;
  await service.pass(1_000);
  assert.equal(service.documents, before + 1, "and the open approvals are fetched");
});

Deno.test("a failed fetch is repeated unless the run does not exist", async () => {
  for (const [status, fetches] of [[404, 0], [503, 1]] as const) {
    const service = new FakeService();
    service.failing = new Problem({ status, code: "x", title: "x" });
    const store = new RunStore("run_1", service);
    await store.open();
    assert.equal(store.problem.value?.status, status);
    service.failing = null;
    await service.pass(6_000);
    assert.equal(service.views, fetches, `after ${status}`);
    assert.equal(service.streams.length, fetches, `followed after ${status}`);
  }
});

Deno.test("a closed store neither follows nor fetches", async () => {
  const { service, store } = await opened();
  store.close();
  assert.equal(service.streams[0]!.closed, true);
  const before = service.documents;
  await service.pass(60_000);
  assert.equal(service.documents, before);
});
