// Keyboard shortcuts: the keys of the current screen and their actions, also for the help.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Shortcut {
  /** For the help: "Next row". */
  readonly label: string;
  readonly action: (event: KeyboardEvent) => void;
}

/** Shortcuts by key: "j", "/", "Enter", "Escape", "?", "g r" (one after the other). */
export type Shortcuts = { readonly [key: string]: Shortcut };

interface Layer {
  readonly title: string;
  shortcuts: Shortcuts;
}

const layers = signal<readonly Layer[]>([]);

/** Return the active shortcuts: those of the newest screen first. */
export function activeLayers(): readonly Layer[] {
  return layers.value.toReversed();
}

/** Activate shortcuts while the component exists. `title` is their heading in the help. */
export function useShortcuts(title: string, shortcuts: Shortcuts): void {
  const layer = useRef<Layer>({ title, shortcuts });
  layer.current.shortcuts = shortcuts; // the newest closures, without a new layer at every render
  useLayoutEffect(() => { // before the screen is painted, so that no key is lost
    const mine = layer.current;
    layers.value = [...layers.value, mine];
    return () => {
      layers.value = layers.value.filter((other) => other !== mine);
    };
  }, []);
}

const CHORD_MS = 1200;

/** The first key of a chord, and when it was pressed, in milliseconds. */
interface ChordStart {
  readonly key: string;
  readonly at: number;
}

/** Listen for keys, once for the whole page. */
export function startKeys(): void {
  let start: ChordStart | null = null;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    if (isField(event.target) && event.key !== "Escape") return;
    if (event.key === "Enter" && isControl(event.target)) return; // the control handles Enter itself
    const active = activeLayers().map((layer) => layer.shortcuts);
    const at = performance.now();
    const name = keyName(event.key, start, at);
    start = null;
    if (runShortcut(active, name, event)) event.preventDefault();
    else if (startsChord(active, event.key)) start = { key: event.key, at };
  });
}

/** Return the name of a key, or of the chord that it completes. */
export function keyName(key: string, start: ChordStart | null, now: number): string {
  return start && now - start.at < CHORD_MS ? `${start.key} ${key}` : key;
}

/** Run the first shortcut for this key; return whether there is one. */
export function runShortcut(
  active: readonly Shortcuts[],
  name: string,
  event: KeyboardEvent,
): boolean {
  const found = active.find((shortcuts) => shortcuts[name])?.[name];
  found?.action(event);
  return found !== undefined;
}

/** Return whether a key is the first of a chord. */
export function startsChord(active: readonly Shortcuts[], key: string): boolean {
  return active.some((shortcuts) =>
    Object.keys(shortcuts).some((name) => name.startsWith(`${key} `))
  );
}

/** Move the focus to the next (1) or previous (-1) of the elements that match; without one, to the first or last. */
export function moveFocus(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const focused = all.findIndex((element) => element.contains(document.activeElement));
  const at = focused < 0 ? all.findIndex((each) => each.hasAttribute("aria-current")) : focused;
  const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
  const next = all[Math.max(0, Math.min(all.length - 1, to))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Take the focus from the focused element; return whether there was one. */
export function blurFocused(): boolean {
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLElement) || activeElement === document.body) return false;
  activeElement.blur();
  return true;
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(A|BUTTON|SUMMARY)$/.test(target.tagName);
}
