// Labels of steps: a name, and its arguments.

import { capitalized } from "../../formats.ts";
import type { Args } from "./view.ts";

/** A label in two parts, of which the lanes of the timeline cut one where room is short. */
interface SplitLabel {
  readonly name: string;
  /** The arguments; "" without any. */
  readonly rest: string;
}

const SEPARATOR = " · ";

/**
 * Return the label of a step. What a model or a flow named is shown as words, such as "Heat pump costs"; names of
 * subtasks are those of tools.
 */
export function splitLabel({ label, worker }: { label: string; worker: string }): SplitLabel {
  const [name = "", ...rest] = label.split(SEPARATOR);
  return {
    name: worker === "work" ? name : capitalized(name.replaceAll("_", " ")),
    rest: rest.join(SEPARATOR),
  };
}

const MAX_LABEL = 80;

/** Return a name with its arguments, for people. */
export function labelOf(name: string, args: Args | undefined): string {
  const values = Object.values(args ?? {}).map(argument).filter((text) => text !== "").join(", ");
  const label = values ? `${name}${SEPARATOR}${values}` : name;
  return label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label;
}

function argument(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(argument).filter(Boolean).join(", ");
  if (typeof value === "object") {
    const reference = (value as { $result?: { subtask?: string } }).$result;
    if (reference?.subtask) return `from ${reference.subtask}`;
    return Object.values(value).map(argument).filter(Boolean).join(", ");
  }
  return String(value).trim().replace(/\s+/g, " "); // a label is one line
}
