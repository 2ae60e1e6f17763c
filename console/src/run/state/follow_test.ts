// Test following a run: each change once, and no connection while the tab is hidden or after the end.

import assert from "node:assert/strict";
import { reachable } from "../../connection.ts";
import { follow, type Handlers } from "./follow.ts";

class FakeSource extends EventTarget {
  static readonly opened: FakeSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onmessage: ((message: MessageEvent<string>) => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }

  close(): void {
    this.closed = true;
  }

  send(value: object, type = "message"): void {
    const message = new MessageEvent(type, { data: JSON.stringify(value) });
    if (type === "message") this.onmessage?.(message as MessageEvent<string>);
    else this.dispatchEvent(message);
  }
}

/** Follow a run on a fake page with a fake clock; `calls` are the calls of its handlers. */
function followRun(after = 0) {
  FakeSource.opened.length = 0;
  const page = Object.assign(new EventTarget(), { hidden: false });
  const timers: { readonly run: () => void; readonly ms: number }[] = [];
  const calls: string[] = [];
  const real = { setTimeout, clearTimeout };
  Object.assign(globalThis, {
    EventSource: FakeSource,
    document: page,
    setTimeout: (run: () => void, ms: number) => timers.push({ run, ms }),
    clearTimeout: () => timers.splice(0),
  });
  const handlers: Handlers = {
    snapshot: (view) => calls.push(`snapshot ${view.last_seq}`),
    change: (change) => calls.push(`change ${change.seq}`),
    delta: (delta) => calls.push(`delta ${delta.text}`),
    end: (end) => calls.push(`end ${end.status}`),
    link: (state) => calls.push(state),
  };
  const following = follow("run_1", after, handlers);
  return {
    calls,
    timers,
    following,
    current: () => FakeSource.opened.at(-1)!,
    sources: FakeSource.opened,
    hide(hidden: boolean) {
      page.hidden = hidden;
      page.dispatchEvent(new Event("visibilitychange"));
    },
    done() {
      following.close();
      Object.assign(globalThis, real);
    },
  };
}

Deno.test("each change after the given event arrives once and in order", () => {
  const run = followRun(3);
  assert.equal(run.current().url, "/api/runs/run_1/view/stream?after=3");
  run.current().onopen?.();
  for (const seq of [3, 4, 5, 5, 4, 6]) run.current().send({ seq });
  assert.deepEqual(run.calls.filter((call) => call.startsWith("change")), [
    "change 4",
    "change 5",
    "change 6",
  ]);
  run.done();
});

Deno.test("a broken connection is opened again after the last change, each time a little later", () => {
  const run = followRun();
  run.current().onopen?.();
  run.current().send({ seq: 1 });
  run.current().onerror?.();
  assert.ok(run.current().closed);
  assert.equal(run.calls.at(-1), "reconnecting");
  const delays: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    const timer = run.timers.at(-1)!;
    delays.push(timer.ms);
    timer.run();
    assert.match(run.current().url, /after=1$/);
    run.current().onerror?.();
  }
  assert.equal(reachable.value, false);
  assert.deepEqual(delays, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
  run.timers.at(-1)!.run();
  run.current().onopen?.();
  assert.equal(run.calls.at(-1), "live");
  assert.equal(reachable.value, true);
  run.current().onerror?.();
  assert.equal(run.timers.at(-1)!.ms, 500);
  run.done();
});

Deno.test("a hidden tab has no connection; shown again, it resumes after the last change", () => {
  const run = followRun();
  run.current().onopen?.();
  run.current().send({ seq: 1 });
  run.hide(true);
  assert.ok(run.current().closed);
  assert.equal(run.calls.at(-1), "paused");
  assert.equal(run.sources.length, 1);
  run.hide(false);
  assert.equal(run.sources.length, 2);
  assert.match(run.current().url, /after=1$/);
  run.hide(false);
  assert.equal(run.sources.length, 2);
  run.done();
});

Deno.test("a tab that is hidden before a retry does not connect", () => {
  const run = followRun();
  run.current().onerror?.();
  run.hide(true);
  assert.equal(run.timers.length, 0);
  assert.equal(run.sources.length, 1);
  run.done();
});

Deno.test("a stream resumes after the snapshot it received", () => {
  const run = followRun();
  run.current().send({ last_seq: 900 }, "snapshot");
  for (const seq of [899, 900, 901]) run.current().send({ seq });
  assert.deepEqual(run.calls, ["connecting", "snapshot 900", "change 901"]);
  run.current().onerror?.();
  run.timers.at(-1)!.run();
  assert.match(run.current().url, /after=901$/);
  run.done();
});

Deno.test("a hidden tab connects only until it has caught up", () => {
  const run = followRun(5);
  run.hide(true);
  run.following.catchUp(5);
  assert.equal(run.sources.length, 1, "nothing new");
  run.following.catchUp(7);
  assert.equal(run.sources.length, 2);
  run.current().onopen?.();
  run.current().send({ seq: 6 });
  assert.ok(!run.current().closed);
  run.current().send({ seq: 7 });
  assert.ok(run.current().closed);
  assert.equal(run.calls.at(-1), "change 7");
  assert.ok(!run.calls.includes("live"), "it stays paused");
  run.following.catchUp(9);
  run.current().onerror?.();
  assert.equal(run.timers.length, 0, "no retry while hidden");
  run.hide(false);
  assert.equal(run.sources.length, 4);
  run.following.catchUp(12);
  assert.equal(run.sources.length, 4, "a visible tab is connected anyway");
  run.done();
});

Deno.test("the end closes the connection for good", () => {
  const run = followRun();
  run.current().send({ attempt: "compose/a1", offset: 0, text: "Hi" }, "delta");
  run.current().send({ status: "succeeded", last_seq: 1 }, "end");
  assert.deepEqual(run.calls, ["connecting", "delta Hi", "end succeeded", "ended"]);
  assert.ok(run.current().closed);
  run.hide(true);
  run.hide(false);
  assert.equal(run.sources.length, 1);
  run.done();
});

Deno.test("after close() no handler is called", () => {
  const run = followRun();
  run.current().onopen?.();
  run.following.close();
  const before = run.calls.length;
  run.hide(true);
  run.hide(false);
  assert.ok(run.current().closed);
  assert.equal(run.calls.length, before);
  run.done();
});
