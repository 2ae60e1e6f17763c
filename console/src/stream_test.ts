// Test following a run by a stream: each change once, and connections only for the tabs that need one.

import assert from "node:assert/strict";
import { reachable } from "./connection.ts";
import { follow } from "./run/state/follow.ts";

class FakeSource extends EventTarget {
  static readonly opened: FakeSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    super();
    FakeSource.opened.push(this);
  }

  close(): void {
    this.closed = true;
  }

  send(value: object, type = "message"): void {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(value) }));
  }
}

/** Follow a run on a fake page with a fake clock; `calls` are the calls of its handlers. */
function followRun({ after = 0, hidden = false } = {}) {
  FakeSource.opened.length = 0;
  const page = Object.assign(new EventTarget(), { hidden });
  const timers: { readonly run: () => void; readonly ms: number }[] = [];
  const calls: string[] = [];
  const real = { setTimeout, clearTimeout };
  const posted: string[] = [];
  const tabs = {
    onmessage: null as (() => void) | null,
    postMessage: (text: string) => void posted.push(text),
    close: () => {},
  };
  Object.assign(globalThis, {
    EventSource: FakeSource,
    BroadcastChannel: function () {
      return tabs;
    },
    document: page,
    setTimeout: (run: () => void, ms: number) => timers.push({ run, ms }),
    clearTimeout: () => timers.splice(0),
  });
  const close = follow("run_1", after, {
    snapshot: (view) => calls.push(`snapshot ${view.last_seq}`),
    change: (change) => calls.push(`change ${change.seq}`),
    delta: (delta) => calls.push(`delta ${delta.text}`),
    end: () => calls.push("end"),
    link: (state) => calls.push(state),
  });
  return {
    calls,
    timers,
    posted,
    close,
    sources: FakeSource.opened,
    current: () => FakeSource.opened.at(-1)!,
    hide(hidden: boolean) {
      page.hidden = hidden;
      page.dispatchEvent(new Event("visibilitychange"));
    },
    otherTabIsShown: () => tabs.onmessage?.(),
    done() {
      close();
      Object.assign(globalThis, real);
    },
  };
}

Deno.test("each change after the given event, and after a snapshot, arrives once and in order", () => {
  const run = followRun({ after: 3 });
  assert.equal(run.current().url, "/api/runs/run_1/view/stream?after=3");
  for (const seq of [3, 4, 5, 5, 4]) run.current().send({ seq });
  run.current().send({ last_seq: 900 }, "snapshot");
  for (const seq of [899, 900, 901]) run.current().send({ seq });
  assert.deepEqual(run.calls, ["connecting", "change 4", "change 5", "snapshot 900", "change 901"]);
  run.current().onerror?.();
  run.timers.at(-1)!.run();
  assert.match(run.current().url, /after=901$/);
  run.done();
});

Deno.test("a broken connection is opened again, each time a little later", () => {
  const run = followRun();
  run.current().onopen?.();
  run.current().onerror?.();
  assert.ok(run.current().closed);
  assert.equal(run.calls.at(-1), "reconnecting");
  const delays: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    const timer = run.timers.at(-1)!;
    delays.push(timer.ms);
    timer.run();
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

Deno.test("a hidden tab keeps its stream until another tab is shown", () => {
  const run = followRun();
  assert.deepEqual(run.posted, ["shown"]);
  run.current().onopen?.();
  run.otherTabIsShown();
  assert.ok(!run.current().closed, "it is shown itself, in another window");
  run.hide(true);
  run.current().send({ seq: 1 });
  assert.equal(run.calls.at(-1), "change 1");
  run.otherTabIsShown();
  assert.ok(run.current().closed);
  assert.equal(run.calls.at(-1), "paused");
  run.hide(false);
  assert.equal(run.sources.length, 2);
  assert.match(run.current().url, /after=1$/);
  run.hide(false);
  assert.equal(run.sources.length, 2);
  run.done();
});

Deno.test("a tab that is opened in the background, or whose stream breaks there, does not connect", () => {
  const background = followRun({ hidden: true });
  assert.equal(background.sources.length, 0);
  assert.deepEqual(background.calls, ["paused"]);
  background.hide(false);
  assert.equal(background.sources.length, 1);
  background.hide(true);
  background.current().onerror?.();
  assert.equal(background.timers.length, 0);
  background.done();
});

Deno.test("the end closes the connection for good", () => {
  const run = followRun();
  run.current().send({ attempt: "compose/a1", offset: 0, text: "Hi" }, "delta");
  run.current().send({ status: "succeeded", last_seq: 1 }, "end");
  assert.deepEqual(run.calls, ["connecting", "delta Hi", "end"]);
  assert.ok(run.current().closed);
  run.hide(true);
  run.hide(false);
  assert.equal(run.sources.length, 1);
  run.current().send({ seq: 9 });
  assert.equal(run.calls.at(-1), "end", "no handler is called again");
  run.done();
});
