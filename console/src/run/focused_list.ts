// Which of the screen's lists `j`, `k` and Enter act on: the one that had the focus last.

export interface FocusedList {
  move(by: number): void;
  enter(): void;
}

let focused: FocusedList | null = null;

export function focusList(list: FocusedList): void {
  focused = list;
}

export function focusedList(): FocusedList | null {
  return focused;
}
