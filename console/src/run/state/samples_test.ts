// Views and changes of made-up runs, for tests.

import type { Change, Patch, Step, View, Words } from "./view.ts";

export const START = "2026-11-21T12:00:00.000Z";

export function sampleStep(given: Partial<Step> = {}): Step {
  return {
    name: "check_weather",
    label: "check_weather · Paris",
    worker: "work",
    order: "wo-001",
    position: 0,
    counts: true,
    args: { location: "Paris" },
    needs: [],
    status: "pending",
    note: "",
    seq: 2,
    attempts: {},
    ...given,
  };
}

/** A run with one order of so many subtasks, after `seq` events. */
export function sampleView(subtasks = 2, seq = 2): View {
  const steps = Array.from({ length: subtasks }, (_, position) => {
    const name = `town_${position}`;
    return [`wo-001.${position}`, sampleStep({ name, label: name, position })];
  });
  return {
    run_id: "run_1",
    last_seq: seq,
    last_at: START,
    run: {
      request: "Weather",
      flow: "work-order",
      model: "offline",
      status: "running",
      reason: "",
      created_at: START,
      waits: {},
    },
    spend: {
      requests: 0,
      tokens: 0,
      nanousd: 0,
      unpriced: false,
    },
    orders: { "wo-001": { goal: "all of it", seq: 2, total: subtasks } },
    steps: Object.fromEntries(steps),
    todos: [],
    artifacts: {},
  };
}

const WORDS: Words = {
  title: "Changed",
  text: "",
  subject: "",
  tone: "info",
  level: "step",
  topics: ["work"],
};

export function change(seq: number, patch: Patch = {}): Change {
  const at = new Date(Date.parse(START) + seq * 1_000).toISOString();
  return { seq, at, type: "changed", words: WORDS, patch };
}
