// Whether an element has stayed where it is for a moment: a click on something that has just moved may be meant for
// what was there before.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const SETTLED_MS = 800;
const MOVED_PX = 4;

/** Return whether to accept clicks: to draw it, and to ask at the moment of a click. */
export function useSteady(element: RefObject<HTMLElement | null>) {
  const [steady, setSteady] = useState(false);
  const now = useRef(false);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    function set(next: boolean): void {
      clearTimeout(timer);
      now.current = next;
      setSteady(next);
      if (!next) timer = setTimeout(() => set(true), SETTLED_MS);
    }
    let last = placeOf(current);
    const observer = new ResizeObserver(() => {
      const next = placeOf(current);
      // Scrolling moves it in the window alone, and the browser may keep it in sight while the page changes.
      const moved = Math.abs(next.inPage - last.inPage) > MOVED_PX &&
        Math.abs(next.inWindow - last.inWindow) > MOVED_PX;
      last = next;
      if (moved) set(false);
    });
    for (let each: HTMLElement | null = current; each; each = each.parentElement) {
      observer.observe(each); // what grows above it resizes one of them
    }
    set(false);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, []);
  return { steady, isSteady: () => now.current };
}

function placeOf(element: HTMLElement): { readonly inPage: number; readonly inWindow: number } {
  const { top } = element.getBoundingClientRect();
  return { inPage: top + scrollY, inWindow: top };
}
