// What can carry out a stage of a report.

import type { AgentClass } from "../wire.ts";

/** Return what can carry out a stage: a model, and each class, also one that this server no longer has. */
export function carriers(
  classes: readonly AgentClass[],
  current: string,
): (readonly [string, string])[] {
  const names = classes.map(({ name }) => name);
  const all = current === "" || names.includes(current) ? names : [current, ...names];
  return [["", "A model"], ...all.map((name) => [name, `Class ${name}`] as const)];
}
