// Values from the service: loaded once, or polled while the tab is visible.

import { useEffect, useRef, useState } from "preact/hooks";
import { reachable } from "../connection.ts";
import { asProblem, type Problem } from "../problem.ts";

export interface Loaded<T> {
  /** The newest value; it stays while a later load fails. */
  readonly value: T | null;
  /** Why the last load failed; null when it worked. */
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * Loads a value when the component appears and whenever `key` changes (the old value is dropped then), and every
 * `everyMs` after the last answer while the tab is visible; also as soon as the tab is shown again.
 */
export function useLoaded<T>(
  load: (giving: { signal: AbortSignal }) => Promise<T>,
  { key, everyMs }: { key: string; everyMs?: number },
): Loaded<T> {
  const [state, setState] = useState<{
    key: string;
    value: T | null;
    problem: Problem | null;
    loading: boolean;
  }>({ key, value: null, problem: null, loading: true });
  const newest = useRef(load);
  newest.current = load;
  const again = useRef(() => {});

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let giveUp = new AbortController();
    let over = false;

    async function once(): Promise<void> {
      clearTimeout(timer);
      giveUp.abort();
      const mine = giveUp = new AbortController();
      try {
        const value = await newest.current({ signal: mine.signal });
        if (!mine.signal.aborted) setState({ key, value, problem: null, loading: false });
      } catch (error) {
        if (mine.signal.aborted) return;
        const problem = asProblem(error);
        setState((held) => ({
          key,
          value: held.key === key ? held.value : null,
          problem,
          loading: false,
        }));
      }
      if (!over && !mine.signal.aborted && everyMs) timer = setTimeout(next, everyMs);
    }
    function next(): void {
      if (!document.hidden) once();
    }

    again.current = once;
    once();
    if (everyMs) document.addEventListener("visibilitychange", next);
    let lost = false;
    const unsubscribe = reachable.subscribe((answers) => {
      if (answers && lost && !everyMs) once(); // the service is back; polling finds out by itself
      lost = !answers;
    });
    return () => {
      over = true;
      clearTimeout(timer);
      giveUp.abort();
      document.removeEventListener("visibilitychange", next);
      unsubscribe();
    };
  }, [key, everyMs]);

  const mine = state.key === key;
  return {
    value: mine ? state.value : null,
    problem: mine ? state.problem : null,
    loading: !mine || state.loading,
    reload: () => again.current(),
  };
}
