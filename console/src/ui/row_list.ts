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

interface RowList {
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** The rows to draw: from `first` up to, not including, `end`. */
  readonly first: number;
  readonly end: number;
  /** The width that is in sight, in pixels. */
  readonly width: number;
  /** The height of a row, in pixels. */
  readonly rowHeight: number;
  readonly active: number;
  readonly isActiveDrawn: boolean;
  readonly setActive: (row: number) => void;
  /** Move so many rows down, and scroll to the row. */
  readonly move: (by: number) => void;
  /** Scroll to a row if it is out of sight. */
  readonly show: (row: number) => void;
  readonly onScroll: () => void;
  /** Handle arrows, Home, End, Page up and Page down; return whether it was one of them. */
  readonly onKey: (event: KeyboardEvent) => boolean;
}

interface RowListOptions {
  readonly count: number;
  /** The height of a row, given the width of the list. */
  readonly rowHeight: (width: number) => number;
  /** The height of the head that covers the first rows. */
  readonly head?: number;
}

export function useRowList({ count, rowHeight: heightAt, head = 0 }: RowListOptions): RowList {
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

  function onKey(event: KeyboardEvent): boolean {
    const page = Math.max(1, Math.floor((box.height - head) / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -count,
      End: count,
    };
    const by = steps[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    move(by);
    return true;
  }

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
    move,
    show,
    onScroll: measure,
    onKey,
  };
}
