// The subtasks of two runs, paired by what they are.

import type { RunDocument, StepLine } from "../wire.ts";

export interface Pair {
  readonly title: string;
  readonly before: StepLine | null;
  readonly after: StepLine | null;
}

/** Return the subtasks of a run without those that a later work order repeats. */
export function currentSubtasks(
  { steps = [], work_orders: orders = [] }: Pick<RunDocument, "steps" | "work_orders">,
): StepLine[] {
  const repeated = new Set(
    orders.flatMap(({ subtasks }) => subtasks.map((subtask) => subtask.repairs_subtask)),
  );
  return steps.filter(({ id, counts }) => counts && !repeated.has(id));
}

/** Return pairs with the same title, in the order of the first run; those of the second run alone come last. */
export function pairsOf(
  before: readonly StepLine[],
  after: readonly StepLine[],
): Pair[] {
  const left = Map.groupBy(after, ({ title }) => title);
  const pairs: Pair[] = before.map((line) => ({
    title: line.title,
    before: line,
    after: left.get(line.title)?.shift() ?? null,
  }));
  const rest = [...left.values()].flat().map((line) => ({
    title: line.title,
    before: null,
    after: line,
  }));
  return [...pairs, ...rest];
}

/** Return whether the runs differ in the state or in the result of a subtask. */
export function differs({ before, after }: Pair): boolean {
  return before?.status !== after?.status || before?.summary !== after?.summary ||
    before?.failure?.message !== after?.failure?.message;
}
