// The keyboard: which keys do what on the screen that is shown, and the help that lists them.

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

/** What is offered now, for the help: the newest screen's keys first. */
export function offered(): readonly { readonly title: string; readonly keys: Keys }[] {
  return [...layers.value].reverse();
}

/** Offers keys while the component is there. `title` heads them in the help ("Runs", "Run", "Everywhere"). */
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

/** Listens once for the whole page. */
export function startKeys(): void {
  let begun: Begun | null = null;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if (isField(event.target) && event.key !== "Escape") return;
    if (event.key === "Enter" && isControl(event.target)) return; // it does its own work
    const keys = offered().map((layer) => layer.keys);
    const at = performance.now();
    const name = keyName(event.key, begun, at);
    begun = null;
    if (taken(keys, name, event)) event.preventDefault();
    else if (startsChord(keys, event.key)) begun = { key: event.key, at };
  });
}

/** The name of a key, or of the chord that it ends. */
export function keyName(key: string, begun: Begun | null, now: number): string {
  return begun && now - begun.at < CHORD_MS ? `${begun.key} ${key}` : key;
}

/** Does what the first of some offers has for a key; false if none has. */
export function taken(offers: readonly Keys[], name: string, event: KeyboardEvent): boolean {
  const found = offers.find((keys) => keys[name])?.[name];
  found?.act(event);
  return found !== undefined;
}

/** Whether a key is the first of a chord. */
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
