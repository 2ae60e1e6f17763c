// Describe the changes that a repair made to a subtask, a line each.

import type { Lane } from "../state/lanes.ts";
import type { Args } from "../state/view.ts";

export function changeOf(
  before: Ordered & Pick<Lane, "key" | "failure">,
  after: Ordered,
): string[] {
  const reason = before.failure ? `, which failed: ${before.failure.message}` : "";
  const lines = differences(before, after);
  return [
    `Repeats ${before.key}${reason}`,
    ...(lines.length > 0 ? lines : ["Nothing else changed"]),
  ];
}

type Ordered = Pick<Lane, "name" | "tool" | "args" | "needs">;

/** Return what differs between a subtask and what repeats it, a line each. */
export function differences(before: Ordered, after: Ordered): string[] {
  const lines: string[] = [];
  if (after.name !== before.name) lines.push(`Name: ${before.name} → ${after.name}`);
  if (after.tool !== before.tool) {
    lines.push(`Tool: ${before.tool ?? "any"} → ${after.tool ?? "any"}`);
  }
  lines.push(...changedArgs(before.args, after.args));
  const needs = after.needs.filter((need) => !before.needs.includes(need));
  if (needs.length) lines.push(`Needs: ${needs.join(", ")}`);
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
