// A list of many rows of the same height that draws only the rows in sight and is one stop for the Tab key.

import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows that are drawn above and below those in sight. */
const OVERSCAN = 6;

/** Return the width of an element, observed instead of measured while drawing. */
export function useWidth(element: RefObject<HTMLElement | null>, initial: number): number {
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return;
    const observer = new ResizeObserver(() => setWidth(current.offsetWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return width;
}

interface RowListOptions {
  readonly count: number;
  /** The height of a row, given the width of the list. */
  readonly rowHeight: (width: number) => number;
  /** The height of the head that covers the first rows. */
  readonly head?: number;
  /** Called with a row when Enter is pressed. */
  readonly onEnter: (row: number) => void;
}

export function useRowList({ count, rowHeight: heightAt, head = 0, onEnter }: RowListOptions) {
  const scroller = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState({ top: 0, height: 400, width: 600 });
  const [active, setActive] = useState(-1);
  const rowHeight = heightAt(box.width);

  function measure(): void {
    const element = scroller.current;
    if (!element) return;
    const width = element.clientWidth;
    const next = {
      // In whole rows, so that a scroll within a row draws nothing.
      top: Math.floor(element.scrollTop / heightAt(width)),
      height: element.clientHeight,
      width,
    };
    setBox((held) =>
      held.top === next.top && held.height === next.height && held.width === next.width
        ? held
        : next
    );
  }

  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);

  /** Scroll to a row if it is out of sight. */
  function show(row: number): void {
    const element = scroller.current;
    if (!element || row < 0) return;
    const top = row * rowHeight;
    const room = element.clientHeight - head;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + room) {
      element.scrollTop = top + rowHeight - room;
    }
  }

  function move(by: number): void {
    const next = Math.max(
      0,
      // From outside the list, down leads to its first row and up to its last.
      Math.min(count - 1, active < 0 ? (by > 0 ? by - 1 : count + by) : active + by),
    );
    setActive(next);
    show(next);
  }

  /** Handle Enter, arrows, j and k, Home, End, Page up and Page down; return whether the key moved. */
  function onKey(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Enter" && active >= 0) onEnter(active);
    const page = Math.max(1, Math.floor((box.height - head) / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -count,
      End: count,
    };
    const by = steps[event.key];
    if (by === undefined) return false;
    event.preventDefault();
    move(by);
    return true;
  }

  // The rows to draw: from `first` up to, not including, `end`.
  const end = Math.min(count, box.top + Math.ceil(box.height / rowHeight) + OVERSCAN);
  const first = Math.min(Math.max(0, box.top - OVERSCAN), end);
  return {
    scroller,
    first,
    end,
    width: box.width,
    rowHeight,
    active: Math.min(active, count - 1),
    isActiveDrawn: active >= first && active < end,
    setActive,
    show,
    onScroll: measure,
    onKey,
  };
}
