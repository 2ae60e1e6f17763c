// Signals that survive a reload.

import { effect, type Signal, signal } from "@preact/signals";
import { isObject, parseJson } from "./json.ts";

/** Return a signal that starts with what was saved in this tab under the name, and saves what it is set to. */
export function saved<T extends object>(name: string, initial: T): Signal<T> {
  const key = `leadhand.${name}`;
  const kept = signal<T>(initial);
  try {
    const parsed = parseJson(sessionStorage.getItem(key) ?? "");
    if ("value" in parsed && isObject(parsed.value)) kept.value = { ...initial, ...parsed.value };
    effect(() => sessionStorage.setItem(key, JSON.stringify(kept.value)));
  } catch {
    // No storage, or no room in it: then it lives as long as the page.
  }
  return kept;
}
