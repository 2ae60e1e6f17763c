// Describe the changes that a repair made to a subtask, a line each.

import type { Lane } from "./model.ts";
import type { Args } from "./view.ts";

export function changeOf(
  before: Pick<Lane, "key" | "name" | "tool" | "args" | "needs" | "failure">,
  after: Pick<Lane, "name" | "tool" | "args" | "needs">,
): string[] {
  const reason = before.failure ? `, which failed: ${before.failure.message}` : "";
  const lines = [`Repeats ${before.key}${reason}`];
  if (after.name !== before.name) lines.push(`Name: ${before.name} → ${after.name}`);
  if (after.tool !== before.tool) {
    lines.push(`Tool: ${before.tool ?? "any"} → ${after.tool ?? "any"}`);
  }
  lines.push(...changedArgs(before.args, after.args));
  const needs = after.needs.filter((need) => !before.needs.includes(need));
  if (needs.length) lines.push(`Needs: ${needs.join(", ")}`);
  if (lines.length === 1) lines.push("Nothing else changed");
  return lines;
}

function changedArgs(before: Args, after: Args): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const lines: string[] = [];
  for (const name of names) {
    const [old, now] = [JSON.stringify(before[name]), JSON.stringify(after[name])];
    if (old === now) continue;
    if (old === undefined) lines.push(`${name}: added, ${now}`);
    else if (now === undefined) lines.push(`${name}: removed, was ${old}`);
    else lines.push(`${name}: ${old} → ${now}`);
  }
  return lines;
}
