// Logs for tests: the entries of made-up runs of any size, the same for the same seed.

import type { Entry, Event } from "./entry.ts";

export interface Sample {
  subtasks: number;
  seed?: number;
  /** Whether the run is over at the end of the log. */
  finished?: boolean;
}

const START = Date.UTC(2026, 10, 21, 12);

/** A number in [0, 1) at each call (mulberry32). */
export function randomness(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The log of a run: some subtasks succeed at once, some after retries, some never, some wait for a person. */
export function sampleLog({ subtasks, seed = 1, finished = true }: Sample): Entry[] {
  const random = randomness(seed);
  const entries: Entry[] = [];
  let now = START;
  const add = (event: Event, later = 0) => {
    now += later;
    const entry = { seq: entries.length + 1, at: new Date(now).toISOString(), epoch: 1, ...event };
    entries.push(entry as Entry);
  };
  add({
    type: "run_started",
    definition: {
      request: "Survey many towns",
      flow: "work-order",
      models: { default: "sample" },
      limits: { budget_nanousd: 5_000_000_000 },
    },
  });
  const keys = Array.from({ length: subtasks }, (_, index) => `wo-001.${index}`);
  add({
    type: "work_order_issued",
    order: {
      work_order_id: "wo-001",
      goal: "all of it",
      subtasks: keys.map((_, index) => ({
        name: "check_weather",
        tool: "weather_tool",
        args: { location: `Town ${index}` },
      })),
    },
  }, 40);
  for (const key of keys) {
    add({
      type: "assignment_issued",
      assignment: { assignment_id: key, role: "work", covers: [key] },
    });
  }
  const failure = { message: "the line is dead", type: "connection", class: "transient" };
  // Each subtask is a queue of steps; the queues are interleaved as parallel workers would.
  const queues = keys.map((key) => steps(key));
  let open = queues.map((_, index) => index);
  while (open.length) {
    const at = Math.floor(random() * Math.min(open.length, 32));
    const queue = queues[open[at]!]!;
    for (const event of queue.shift()!) add(event, random() * 8);
    if (!queue.length) open = open.filter((_, index) => index !== at);
  }
  add({
    type: "order_reviewed",
    work_order_id: "wo-001",
    review: {
      verdicts: keys.map((subtask) => ({ subtask, verdict: "accept" })),
      complete: true,
    },
  }, 500);
  if (finished) add({ type: "run_finished", number: 1, status: "partial", answer: "That is all." });
  return entries;

  function steps(key: string): Event[][] {
    const kind = random();
    const made = [...attempt(key, 1, kind > 0.15)];
    if (kind <= 0.1) {
      made.push([{ type: "attempt_scheduled", attempt: `${key}/a2`, continues: `${key}/a1` }]);
      made.push(...attempt(key, 2, kind > 0.02));
    } else if (kind > 0.97) {
      return waiting(key);
    }
    const last = made.at(-1)!;
    const settled = last.at(-1)!;
    if (settled.type === "attempt_settled") settled.final = true;
    return made;
  }

  function attempt(key: string, number: number, ok: boolean): Event[][] {
    const attempt = `${key}/a${number}`;
    const call = { attempt, call_id: `${key}/t0/c0`, tool: "weather_tool" };
    const thought = { attempt, call_id: `${key}/t${number}`, model: "sample" };
    const reserved = { requests: 1, tokens: 900, nanousd: 2_000 };
    const usage = { requests: 1, input_tokens: 700, output_tokens: 80, nanousd: 1_500 };
    return [
      [{ type: "attempt_started", attempt, host: "here" }],
      [{ type: "tool_call_began", ...call, args: { location: key }, effect: "pure" }],
      [{ type: "tool_call_returned", ...call, ok, failure: ok ? null : failure, summary: "7 °C" }],
      [{ type: "model_call_began", ...thought, reserved }],
      [{ type: "model_call_returned", ...thought, usage }],
      [
        {
          type: "attempt_returned",
          attempt,
          result: { task_name: key, ok, data: ok ? { summary: "7 °C" } : null },
        },
        {
          type: "attempt_settled",
          attempt,
          ok,
          final: false,
          failure: ok ? null : failure,
        },
      ],
    ];
  }

  function waiting(key: string): Event[][] {
    const approval_id = `${key}/t0/c0`;
    const asked = { approval_id, kind: "call" as const, attempt: `${key}/a1`, tool: "pay_tool" };
    const open_calls = [{ call_id: approval_id, kind: "approval", tool: "pay_tool" }];
    return [
      [{ type: "attempt_started", attempt: `${key}/a1`, host: "here" }],
      [{ type: "attempt_parked", attempt: `${key}/a1`, open_calls }],
      [{ type: "approval_requested", approval: { ...asked, args: {} } }],
      [{ type: "approval_answered", by: "ann", approval_id, approve: true }],
      [{ type: "attempt_scheduled", attempt: `${key}/a2`, continues: `${key}/a1` }],
      ...attempt(key, 2, true).map((events) =>
        events.map((event) => event.type === "attempt_settled" ? { ...event, final: true } : event)
      ),
    ];
  }
}
