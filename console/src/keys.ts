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
let begun = "";
let begunAt = 0;

/** Listens once for the whole page. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const typing = isField(event.target);
    if (typing && event.key !== "Escape") return;
    if (event.key === "Enter" && isControl(event.target)) return; // it does its own work
    const chord = performance.now() - begunAt < CHORD_MS ? begun : "";
    begun = "";
    if (act(chord ? `${chord} ${event.key}` : event.key, event)) event.preventDefault();
    else if (!chord && startsChord(event.key)) {
      begun = event.key;
      begunAt = performance.now();
    }
  });
}

function act(key: string, event: KeyboardEvent): boolean {
  for (const { keys } of offered()) {
    const found = keys[key];
    if (found) {
      found.act(event);
      return true;
    }
  }
  return false;
}

function startsChord(key: string): boolean {
  return layers.value.some(({ keys }) =>
    Object.keys(keys).some((name) => name.startsWith(`${key} `))
  );
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(A|BUTTON|SUMMARY)$/.test(target.tagName);
}
