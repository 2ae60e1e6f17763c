// The stages of a report as steps, with those to come.

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
  /** "2 of 3" for a stage of several steps; else "". */
  readonly progress: string;
  /** The step to show; null for a stage that has none yet. */
  readonly key: string | null;
}

const LABELS: { readonly [stage: string]: string } = {
  planner: "Plan",
  researcher: "Research",
  writer: "Draft",
  reviewer: "Review",
};

/** Return the stages of a run as steps; `ended` is its status once it is over. */
export function stepsOf(
  lanes: readonly StepLane[],
  stages: readonly { readonly name: string }[],
  ended: string | null,
): Step[] {
  const steps = stages.map(({ name }) => {
    const label = LABELS[name] ?? name;
    return stepOf(label, lanes.filter(({ worker }) => worker === name), ended !== null);
  });
  return [...steps, { label: "Final report", status: ended ?? "pending", progress: "", key: null }];
}

const OPEN: readonly StepStatus[] = ["running", "retrying", "waiting", "pending"];

function stepOf(label: string, lanes: readonly StepLane[], over: boolean): Step {
  const done = lanes.filter(({ status }) => status === "completed").length;
  const open = OPEN.find((status) => lanes.some((lane) => lane.status === status));
  const status = lanes.length === 0
    ? over ? "dropped" : "pending" // a run that is over skips what it has not begun
    : open ?? (done > 0 && done < lanes.length ? "partial" : lanes[0]!.status);
  return {
    label,
    status,
    progress: lanes.length > 1 ? `${done} of ${lanes.length}` : "",
    key: lanes.find((lane) => lane.status === open)?.key ?? lanes.at(-1)?.key ?? null,
  };
}
