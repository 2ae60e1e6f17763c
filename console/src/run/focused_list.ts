// The list that `j`, `k` and Enter act on: the one that had the focus last.

import { useEffect, useRef } from "preact/hooks";

interface FocusedList {
  move(by: number): void;
  enter(): void;
}

let focused: { readonly current: FocusedList } | null = null;

export function focusedList(): FocusedList | null {
  return focused?.current ?? null;
}

/** Offers a list to the keys; returns what its element calls when it gets the focus. */
export function useFocusedList(list: FocusedList): () => void {
  const newest = useRef(list);
  newest.current = list; // the closures of this render, not those of the one that got the focus
  useEffect(() => () => {
    if (focused === newest) focused = null;
  }, []);
  return () => {
    focused = newest;
  };
}
