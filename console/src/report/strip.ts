// The stages of a report as steps in the order in which they happened, with those to come.

import type { StepStatus } from "../run/state/view.ts";

/** What the strip needs of a step. */
export interface StepLane {
  readonly key: string;
  readonly worker: string;
  readonly status: StepStatus;
}

export interface Step {
  readonly label: string;
  /** A status of steps, "partial" if only some of them completed. */
  readonly status: string;
  /** "2 of 3" for a step of several steps; else "". */
  readonly progress: string;
  /** The step to show; null for a step that has none yet. */
  readonly key: string | null;
}

const LABELS: { readonly [stage: string]: string } = {
  planner: "Plan",
  researcher: "Research",
  writer: "Draft",
  reviewer: "Review",
};

/** Return the steps of a run whose stages are `stages`; `ended` is its status once it is over. */
export function stepsOf(
  lanes: readonly StepLane[],
  stages: readonly { readonly name: string }[],
  ended: string | null,
): Step[] {
  const names = stages.map(({ name }) => name);
  const of = (stage: string) => lanes.filter((lane) => lane.worker === stage);
  const writer = names.indexOf("writer");
  const before = names.slice(0, Math.max(writer, 0));
  const after = names.slice(writer + 1);
  const drafts = of("writer");
  const steps = before.map((name) => stepOf(labelOf(name), of(name), ended));
  drafts.forEach((draft, index) => {
    steps.push(stepOf(index === 0 ? "Draft" : `Revision ${index}`, [draft], ended));
    for (const name of after) {
      const found = of(name).filter((lane) => roundOf(lane.key) === index + 1);
      const last = index === drafts.length - 1;
      if (found.length > 0 || last) steps.push(stepOf(labelOf(name), found, ended));
    }
  });
  if (drafts.length === 0 && writer >= 0) {
    for (const name of names.slice(writer)) steps.push(stepOf(labelOf(name), [], ended));
  }
  return [...steps, { label: "Final report", status: ended ?? "pending", progress: "", key: null }];
}

/** Return the number of the draft that a step belongs to: `review-2-c1` and `fact-checker.2` to the second. */
function roundOf(key: string): number {
  return Number(/^(?:review|draft)-(\d+)/.exec(key)?.[1] ?? /\.(\d+)$/.exec(key)?.[1] ?? 1);
}

function labelOf(stage: string): string {
  return LABELS[stage] ?? stage;
}

function stepOf(label: string, lanes: readonly StepLane[], ended: string | null): Step {
  const has = (...statuses: StepStatus[]) => lanes.some(({ status }) => statuses.includes(status));
  const done = lanes.filter(({ status }) => status === "completed").length;
  const status = lanes.length === 0
    ? ended === null ? "pending" : "dropped" // a run that is over skips what it has not begun
    : has("retrying", "waiting") && !has("running")
    ? lanes.find(({ status }) => status === "retrying" || status === "waiting")!.status
    : has("running")
    ? "running"
    : has("pending")
    ? "pending"
    : done === lanes.length
    ? "completed"
    : done > 0
    ? "partial"
    : lanes[0]!.status;
  return {
    label,
    status,
    progress: lanes.length > 1 ? `${done} of ${lanes.length}` : "",
    key: lanes.find((lane) => lane.status === "running")?.key ?? lanes.at(-1)?.key ?? null,
  };
}
