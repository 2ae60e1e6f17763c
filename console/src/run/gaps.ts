// What is missing in an answer: equal causes are one group.

import type { Gap } from "../wire.ts";
import type { Model } from "./model.ts";

export interface Missing {
  /** The id of the assignment; null for a part that no tool supports. */
  readonly key: string | null;
  readonly name: string;
  readonly class: string;
  readonly reason: string;
  readonly next: string;
}

export interface Cause {
  readonly class: string;
  /** The reason of the first part. */
  readonly reason: string;
  /** Whether all parts have this very reason. */
  readonly same: boolean;
  readonly next: string;
  readonly parts: readonly Missing[];
}

export function missingIn(gaps: readonly Gap[], model: Model): Missing[] {
  return gaps.map((gap) => {
    const key = gap.work_order_id === null ? null : `${gap.work_order_id}.${gap.subtask_index}`;
    return {
      key,
      // With its arguments: many subtasks may share a name.
      name: (key && model.byKey.get(key)?.label) ?? gap.name,
      class: gap.class,
      reason: gap.reason,
      next: gap.next_action,
    };
  });
}

/** Return the causes, the most frequent first. Reasons are alike if they differ only in quotes, numbers and names. */
export function causesOf(missing: readonly Missing[]): Cause[] {
  const groups = Map.groupBy(missing, (part) => `${part.class} ${shapeOf(part)}`);
  return [...groups.values()].map((parts) => {
    const { class: kind, reason, next } = parts[0]!;
    return {
      class: kind,
      reason,
      next,
      parts,
      same: parts.every((each) => each.reason === reason),
    };
  }).sort((one, other) => other.parts.length - one.parts.length);
}

function shapeOf({ name, reason }: Missing): string {
  return (name.length > 2 ? reason.replaceAll(name, "…") : reason).replace(
    /"[^"]*"|'[^']*'|`[^`]*`|\S*\d\S*/g,
    "…",
  );
}
