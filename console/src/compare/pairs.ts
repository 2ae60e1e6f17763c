// The subtasks of two runs, paired by what they are.

import type { AssignmentLine } from "../wire.ts";

export interface Pair {
  readonly title: string;
  readonly before: AssignmentLine | null;
  readonly after: AssignmentLine | null;
}

/** Return pairs with the same title, in the order of the first run; those of the second run alone come last. */
export function pairsOf(
  before: readonly AssignmentLine[],
  after: readonly AssignmentLine[],
): Pair[] {
  const left = Map.groupBy(after.filter(({ counts }) => counts), ({ title }) => title);
  const pairs: Pair[] = before.filter(({ counts }) => counts).map((line) => ({
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
