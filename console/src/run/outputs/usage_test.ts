// Test the totals of what the calls of a run used.

import assert from "node:assert/strict";
import { RunView } from "../state/run_view.ts";
import { sampleStep, sampleView, START } from "../state/samples_test.ts";
import { totalsOf } from "./usage.ts";
import type { Call } from "../state/view.ts";

const later = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
const call = (given: Partial<Call>): Call => ({
  id: "c",
  kind: "model",
  name: "gpt",
  began_at: START,
  ended_at: later(2),
  ok: true,
  ...given,
});

Deno.test("calls are summed by worker, model, step and tool, the most expensive first", () => {
  const view = sampleView(2);
  const attempt = (calls: { [seq: string]: Call }) => ({
    "1": { scheduled_at: START, outcome: "ok" as const, calls },
  });
  const steps = {
    plan: sampleStep({
      worker: "plan",
      label: "Plan",
      counts: false,
      order: undefined,
      attempts: attempt({ "2": call({ tokens: 100, output_tokens: 40, nanousd: 7 }) }),
    }),
    "wo-001.0": sampleStep({
      attempts: attempt({
        "3": call({ tokens: 50, output_tokens: 10, cached_tokens: 5, nanousd: 20 }),
        "4": call({ kind: "tool", name: "weather", ok: false }),
        "5": call({ name: "free", tokens: 3, output_tokens: 3 }),
      }),
    }),
  };
  const all = new RunView({ ...view, steps }).steps.value;
  const { workers, models, steps: bySteps, tools } = totalsOf(all);
  assert.deepEqual(workers.map((each) => [each.name, each.nanousd]), [["work", 20], ["plan", 7]]);
  assert.deepEqual(
    models.map((each) => [each.name, each.calls, each.input, each.output, each.unpriced]),
    [["gpt", 2, 100, 50, 0], ["free", 1, 0, 3, 1]],
  );
  assert.deepEqual(bySteps.map((each) => [each.key, each.calls]), [["wo-001.0", 2], ["plan", 1]]);
  assert.deepEqual(tools.map((each) => [each.name, each.calls, each.failed, each.ms]), [
    ["weather", 1, 1, 2000],
  ]);
});
