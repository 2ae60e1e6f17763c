// Keyboard shortcuts: what the keys of the current screen do, for use and for the help.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Key {
  /** What it does, for the help: "Next row". */
  readonly does: string;
  readonly act: (event: KeyboardEvent) => void;
}

/** Keys by name: "j", "/", "Enter", "Escape", "?", "g r" (one after the other). */
export type Keys = { readonly [key: string]: Key };

interface Layer {
  readonly title: string;
  keys: Keys;
}

const layers = signal<readonly Layer[]>([]);

/** Return the current shortcuts: those of the newest screen first. */
export function offered(): readonly { readonly title: string; readonly keys: Keys }[] {
  return [...layers.value].reverse();
}

/** Offer shortcuts while the component exists. `title` is their heading in the help ("Runs", "Run", "Everywhere"). */
export function useKeys(title: string, keys: Keys): void {
  const layer = useRef<Layer>({ title, keys });
  layer.current.keys = keys; // the newest closures, without a new layer at every render
  useEffect(() => {
    const mine = layer.current;
    layers.value = [...layers.value, mine];
    return () => {
      layers.value = layers.value.filter((other) => other !== mine);
    };
  }, []);
}

const CHORD_MS = 1200;

interface Begun {
  readonly key: string;
  /** When it was pressed, in milliseconds. */
  readonly at: number;
}

/** Listen for keys, once for the whole page. */
export function startKeys(): void {
  let begun: Begun | null = null;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if (isField(event.target) && event.key !== "Escape") return;
    if (event.key === "Enter" && isControl(event.target)) return; // the control handles Enter itself
    const keys = offered().map((layer) => layer.keys);
    const at = performance.now();
    const name = keyName(event.key, begun, at);
    begun = null;
    if (taken(keys, name, event)) event.preventDefault();
    else if (startsChord(keys, event.key)) begun = { key: event.key, at };
  });
}

/** Return the name of a key, or of the chord that it ends. */
export function keyName(key: string, begun: Begun | null, now: number): string {
  return begun && now - begun.at < CHORD_MS ? `${begun.key} ${key}` : key;
}

/** Perform what the first offer with this key does; return false if there is none. */
export function taken(offers: readonly Keys[], name: string, event: KeyboardEvent): boolean {
  const found = offers.find((keys) => keys[name])?.[name];
  found?.act(event);
  return found !== undefined;
}

/** Return whether a key is the first of a chord. */
export function startsChord(offers: readonly Keys[], key: string): boolean {
  return offers.some((keys) => Object.keys(keys).some((name) => name.startsWith(`${key} `)));
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(A|BUTTON|SUMMARY)$/.test(target.tagName);
}
