// The list that `j`, `k` and Enter act on: the list that had the focus last.

import { useEffect, useRef } from "preact/hooks";

interface FocusedList {
  move(by: number): void;
  enter(): void;
}

let focused: { readonly current: FocusedList } | null = null;

export function focusedList(): FocusedList | null {
  return focused?.current ?? null;
}

/** Return the focus handler of a list's element; from then on the keys act on the list. */
export function useFocusedList(list: FocusedList): () => void {
  const newest = useRef(list);
  newest.current = list; // the closures of this render
  useEffect(() => () => {
    if (focused === newest) focused = null;
  }, []);
  return () => {
    focused = newest;
  };
}
