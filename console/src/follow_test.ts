// Test following a run: no gap, no repeat, no connection while the tab is hidden, and none left behind.

import assert from "node:assert/strict";
import { reachable } from "./connection.ts";
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

  sends(value: object, type = "message"): void {
    const message = new MessageEvent(type, { data: JSON.stringify(value) });
    if (type === "message") this.onmessage?.(message as MessageEvent<string>);
    else this.dispatchEvent(message);
  }
}

/** A page, its clock and a run that is followed on it. */
function followed(after = 0) {
  FakeSource.opened.length = 0;
  const page = Object.assign(new EventTarget(), { hidden: false });
  const timers: { readonly does: () => void; readonly ms: number }[] = [];
  const told: string[] = [];
  const real = { setTimeout, clearTimeout };
  Object.assign(globalThis, {
    EventSource: FakeSource,
    document: page,
    setTimeout: (does: () => void, ms: number) => timers.push({ does, ms }),
    clearTimeout: () => timers.splice(0),
  });
  const handlers: Handlers = {
    snapshot: (view) => told.push(`snapshot ${view.last_seq}`),
    change: (change) => told.push(`change ${change.seq}`),
    delta: (delta) => told.push(`delta ${delta.text}`),
    end: (end) => told.push(`end ${end.status}`),
    link: (state) => told.push(state),
  };
  const following = follow("run_1", after, handlers);
  return {
    told,
    timers,
    following,
    current: () => FakeSource.opened.at(-1)!,
    sources: FakeSource.opened,
    turn(hidden: boolean) {
      page.hidden = hidden;
      page.dispatchEvent(new Event("visibilitychange"));
    },
    done() {
      following.close();
      Object.assign(globalThis, real);
    },
  };
}

Deno.test("changes come once each, in order, after the given event", () => {
  const run = followed(3);
  assert.equal(run.current().url, "/api/runs/run_1/view?after=3");
  run.current().onopen?.();
  for (const seq of [3, 4, 5, 5, 4, 6]) run.current().sends({ seq });
  assert.deepEqual(run.told.filter((word) => word.startsWith("change")), [
    "change 4",
    "change 5",
    "change 6",
  ]);
  run.done();
});

Deno.test("a connection that broke is made again after the last entry, each time a little later", () => {
  const run = followed();
  run.current().onopen?.();
  run.current().sends({ seq: 1 });
  run.current().onerror?.();
  assert.ok(run.current().closed);
  assert.equal(run.told.at(-1), "reconnecting");
  const waits: number[] = [];
  for (let time = 0; time < 7; time += 1) {
    const timer = run.timers.at(-1)!;
    waits.push(timer.ms);
    timer.does();
    assert.match(run.current().url, /after=1$/);
    run.current().onerror?.();
  }
  assert.equal(reachable.value, false);
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
  run.timers.at(-1)!.does();
  run.current().onopen?.();
  assert.equal(run.told.at(-1), "live");
  assert.equal(reachable.value, true);
  run.current().onerror?.();
  assert.equal(run.timers.at(-1)!.ms, 500);
  run.done();
});

Deno.test("while the tab is hidden there is no connection; shown again, it goes on where it was", () => {
  const run = followed();
  run.current().onopen?.();
  run.current().sends({ seq: 1 });
  run.turn(true);
  assert.ok(run.current().closed);
  assert.equal(run.told.at(-1), "paused");
  assert.equal(run.sources.length, 1);
  run.turn(false);
  assert.equal(run.sources.length, 2);
  assert.match(run.current().url, /after=1$/);
  run.turn(false);
  assert.equal(run.sources.length, 2);
  run.done();
});

Deno.test("a tab that is hidden while a connection is due makes none", () => {
  const run = followed();
  run.current().onerror?.();
  run.turn(true);
  assert.equal(run.timers.length, 0);
  assert.equal(run.sources.length, 1);
  run.done();
});

Deno.test("a snapshot moves the place in the log", () => {
  const run = followed();
  run.current().sends({ last_seq: 900 }, "snapshot");
  for (const seq of [899, 900, 901]) run.current().sends({ seq });
  assert.deepEqual(run.told, ["reconnecting", "snapshot 900", "change 901"]);
  run.current().onerror?.();
  run.timers.at(-1)!.does();
  assert.match(run.current().url, /after=901$/);
  run.done();
});

Deno.test("a hidden tab connects for what is new and no longer", () => {
  const run = followed(5);
  run.turn(true);
  run.following.catchUp(5);
  assert.equal(run.sources.length, 1, "nothing new");
  run.following.catchUp(7);
  assert.equal(run.sources.length, 2);
  run.current().onopen?.();
  run.current().sends({ seq: 6 });
  assert.ok(!run.current().closed);
  run.current().sends({ seq: 7 });
  assert.ok(run.current().closed);
  assert.equal(run.told.at(-1), "change 7");
  assert.ok(!run.told.includes("live"), "it stays paused");
  run.following.catchUp(9);
  run.current().onerror?.();
  assert.equal(run.timers.length, 0, "no retry while hidden");
  run.turn(false);
  assert.equal(run.sources.length, 4);
  run.following.catchUp(12);
  assert.equal(run.sources.length, 4, "a visible tab is connected anyway");
  run.done();
});

Deno.test("the end closes the connection, and nothing opens it again", () => {
  const run = followed();
  run.current().sends({ attempt: "compose/a1", offset: 0, text: "Hi" }, "delta");
  run.current().sends({ status: "succeeded", last_seq: 1 }, "end");
  assert.deepEqual(run.told, ["reconnecting", "delta Hi", "end succeeded", "ended"]);
  assert.ok(run.current().closed);
  run.turn(true);
  run.turn(false);
  assert.equal(run.sources.length, 1);
  run.done();
});

Deno.test("closed by us, it tells nobody anything any more", () => {
  const run = followed();
  run.current().onopen?.();
  run.following.close();
  const before = run.told.length;
  run.turn(true);
  run.turn(false);
  assert.ok(run.current().closed);
  assert.equal(run.told.length, before);
  run.done();
});
