// Labels of steps, cut so that siblings differ where room is short.

import { capitalized } from "../../formats.ts";
import type { Args } from "./view.ts";

/** A label in two parts, of which one may have to be cut. */
export interface ShortLabel {
  readonly name: string;
  /** The arguments; "" without any. */
  readonly rest: string;
  /** The part that is unique within the order; null if both parts are needed. */
  readonly unique: "name" | "rest" | null;
}

const SEPARATOR = " · ";

export function splitLabel(label: string): ShortLabel {
  const at = label.indexOf(SEPARATOR);
  return at < 0
    ? { name: label, rest: "", unique: null }
    : { name: label.slice(0, at), rest: label.slice(at + SEPARATOR.length), unique: null };
}

/**
 * Return the label of a step. What a model or a flow named is shown as words, such as "Heat pump costs"; names of
 * subtasks are those of tools.
 */
export function plainLabel({ label, worker }: { label: string; worker: string }): ShortLabel {
  const short = splitLabel(label);
  if (worker === "work") return short;
  return { ...short, name: capitalized(short.name.replaceAll("_", " ")), unique: "name" };
}

/** Return the short labels of an order's subtasks. Subtasks that share a name show only the arguments that differ. */
export function shortLabels(subtasks: readonly { name: string; args?: Args }[]): ShortLabel[] {
  const values = new Map<string, Set<string>>(); // by name and argument
  const slot = (name: string, argument: string) => `${name}\n${argument}`;
  const sameName = counted(subtasks.map((subtask) => subtask.name));
  for (const { name, args } of subtasks) {
    for (const [argument, value] of Object.entries(args ?? {})) {
      const at = slot(name, argument);
      const seen = values.get(at) ?? new Set();
      values.set(at, seen.add(JSON.stringify(value)));
    }
  }
  const found = subtasks.map(({ name, args }) => {
    const entries = Object.entries(args ?? {});
    const differing = entries.filter(([argument]) => values.get(slot(name, argument))!.size > 1);
    const kept = sameName.get(name)! > 1 && differing.length ? differing : entries;
    return splitLabel(labelOf(name, Object.fromEntries(kept)));
  });
  const rests = counted(found.map((short) => short.rest));
  const stems = counted(found.map((short) => stemOf(short.name)));
  return found.map((short) => {
    if (stems.get(stemOf(short.name)) === 1) return { ...short, unique: "name" };
    return short.rest && rests.get(short.rest) === 1 ? { ...short, unique: "rest" } : short;
  });
}

/** Return a name without its number: `town_1` and `town_2` differ by their arguments, not by their numbers. */
function stemOf(name: string): string {
  return name.replace(/\d+$/, "");
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
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
