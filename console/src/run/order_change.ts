// What a subtask of a repair order changed against the one it does again, in lines for people.

import type { Args, Subtask } from "./entry.ts";
import type { Lane } from "./lane.ts";

export function changeOf(
  before: Pick<Lane, "key" | "name" | "tool" | "args" | "needs" | "failure">,
  after: Subtask,
): string[] {
  const why = before.failure ? `, which failed: ${before.failure.message}` : "";
  const lines = [`does ${before.key} again${why}`];
  if (after.name !== before.name) lines.push(`${before.name} became ${after.name}`);
  if (after.tool !== before.tool) {
    lines.push(`tool ${before.tool ?? "of the worker's choice"} became ${after.tool ?? "that"}`);
  }
  lines.push(...changedArgs(before.args, after.args));
  const needs = (after.needs ?? []).filter((need) => !before.needs.includes(need));
  if (needs.length) lines.push(`now needs ${needs.join(", ")}`);
  if (lines.length === 1) lines.push("nothing else changed");
  return lines;
}

function changedArgs(before: Args, after: Args): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const lines: string[] = [];
  for (const name of names) {
    const [old, now] = [JSON.stringify(before[name]), JSON.stringify(after[name])];
    if (old === now) continue;
    if (old === undefined) lines.push(`${name} added: ${now}`);
    else if (now === undefined) lines.push(`${name} left out (it was ${old})`);
    else lines.push(`${name}: ${old} became ${now}`);
  }
  return lines;
}
