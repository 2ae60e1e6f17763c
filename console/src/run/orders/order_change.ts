// Describe the changes that a repair made to a subtask, a line each.

import type { Lane } from "../state/lanes.ts";
import type { Args } from "../state/view.ts";

type Ordered = Pick<Lane, "name" | "tool" | "args" | "needs">;

export function changeOf(
  before: Ordered & Pick<Lane, "key" | "failure">,
  after: Ordered,
): string[] {
  const reason = before.failure ? `, which failed: ${before.failure.message}` : "";
  const needs = after.needs.filter((need) => !before.needs.includes(need));
  const lines = [
    after.name !== before.name && `Name: ${before.name} → ${after.name}`,
    after.tool !== before.tool && `Tool: ${before.tool ?? "any"} → ${after.tool ?? "any"}`,
    ...changedArgs(before.args, after.args),
    needs.length > 0 && `Needs: ${needs.join(", ")}`,
  ].filter((line) => line !== false);
  return [
    `Repeats ${before.key}${reason}`,
    ...(lines.length > 0 ? lines : ["Nothing else changed"]),
  ];
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
