// What the calls of a run used: totals by worker, model, step and tool.

import type { Lane } from "../state/lanes.ts";
import { type Call, millis } from "../state/view.ts";

export interface Total {
  readonly name: string;
  /** The step, of a total by step. */
  readonly key: string | null;
  calls: number;
  failed: number;
  input: number;
  cached: number;
  output: number;
  nanousd: number;
  /** Calls whose cost is unknown. */
  unpriced: number;
  /** The time of all calls that have ended, in milliseconds. */
  ms: number;
}

export interface Totals {
  readonly workers: readonly Total[];
  readonly models: readonly Total[];
  readonly steps: readonly Total[];
  readonly tools: readonly Total[];
}

/** Return the totals, the most expensive first; tools by the time that they took. */
export function totalsOf(lanes: readonly Lane[]): Totals {
  const [workers, models, steps, tools] = [new Sums(), new Sums(), new Sums(), new Sums()];
  for (const lane of lanes) {
    for (const call of callsOf(lane)) {
      if (call.kind === "tool") tools.add(call.name, call);
      else {
        workers.add(lane.worker, call);
        models.add(call.name, call);
        steps.add(lane.label, call, lane.key);
      }
    }
  }
  return {
    workers: workers.sorted(),
    models: models.sorted(),
    steps: steps.sorted(),
    tools: tools.sorted(),
  };
}

function callsOf(lane: Lane): Call[] {
  return Object.values(lane.attempts).flatMap((attempt) => Object.values(attempt.calls));
}

class Sums {
  #totals = new Map<string, Total>();

  add(name: string, call: Call, key: string | null = null): void {
    const id = key ?? name;
    const total = this.#totals.get(id) ?? {
      name,
      key,
      calls: 0,
      failed: 0,
      input: 0,
      cached: 0,
      output: 0,
      nanousd: 0,
      unpriced: 0,
      ms: 0,
    };
    this.#totals.set(id, total);
    const output = call.output_tokens ?? 0;
    total.calls += 1;
    total.failed += Number(call.ok === false);
    total.input += (call.tokens ?? 0) - output;
    total.cached += call.cached_tokens ?? 0;
    total.output += output;
    total.nanousd += call.nanousd ?? 0;
    total.unpriced += Number(call.tokens !== undefined && call.nanousd === undefined);
    const end = millis(call.ended_at);
    if (end !== null) total.ms += end - Date.parse(call.began_at);
  }

  sorted(): Total[] {
    return [...this.#totals.values()].sort((one, other) =>
      other.nanousd - one.nanousd || other.input + other.output - one.input - one.output ||
      other.ms - one.ms
    );
  }
}
