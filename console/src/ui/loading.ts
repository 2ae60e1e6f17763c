// Values from the service: loaded once, or polled while the tab is visible.

import { useEffect, useRef, useState } from "preact/hooks";
import { reachable } from "../connection.ts";
import { asProblem, type Problem } from "../problem.ts";

interface Loaded<T> {
  /** The newest value; it stays while a later load fails. */
  readonly value: T | null;
  /** Why the last load failed; null if it succeeded. */
  readonly problem: Problem | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * Load a value when the component appears, when `key` changes (which drops the old value), and when the service is back.
 * With `everyMs`, also poll while the tab is visible; a service that does not answer is then no problem of the value, as
 * the header shows it.
 */
export function useLoaded<T>(
  load: (options: { signal: AbortSignal }) => Promise<T>,
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
    let abort = new AbortController();
    let over = false;

    async function loadOnce(): Promise<void> {
      clearTimeout(timer);
      abort.abort();
      const mine = abort = new AbortController();
      try {
        const value = await newest.current({ signal: mine.signal });
        if (!mine.signal.aborted) setState({ key, value, problem: null, loading: false });
      } catch (error) {
        if (mine.signal.aborted) return;
        const problem = asProblem(error);
        setState((last) => ({
          key,
          value: last.key === key ? last.value : null,
          problem: everyMs && problem.code === "unreachable" ? null : problem,
          loading: false,
        }));
      }
      if (!over && !mine.signal.aborted && everyMs) timer = setTimeout(loadIfVisible, everyMs);
    }
    function loadIfVisible(): void {
      if (!document.hidden) loadOnce();
    }

    again.current = loadOnce;
    loadOnce();
    if (everyMs) document.addEventListener("visibilitychange", loadIfVisible);
    let lost = false;
    const unsubscribe = reachable.subscribe((answers) => {
      if (answers && lost && !everyMs) loadOnce(); // polling loads it anyway
      lost = !answers;
    });
    return () => {
      over = true;
      clearTimeout(timer);
      abort.abort();
      document.removeEventListener("visibilitychange", loadIfVisible);
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
