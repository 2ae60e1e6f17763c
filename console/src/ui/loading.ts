// Values from the service: loaded once, and again when runs change.

import { useEffect, useRef, useState } from "preact/hooks";
import { onChanges } from "../changes.ts";
import { reachable } from "../connection.ts";
import { asProblem, type Problem } from "../problem.ts";

interface Loaded<T> {
  /** The newest value; it stays while a later load fails. */
  readonly value: T | null;
  /** Why the last load failed; null if it succeeded. */
  readonly problem: Problem | null;
  readonly reload: () => void;
}

/**
 * Load a value when the component appears, when `key` changes (which drops the old value), and when the service is back.
 * A `live` value is loaded again when any run changes; a service that does not answer is then no problem of the value,
 * as the header shows it.
 */
export function useLoaded<T>(
  load: (options: { signal: AbortSignal }) => Promise<T>,
  { key, live = false }: { key: string; live?: boolean },
): Loaded<T> {
  const [state, setState] = useState<{
    key: string;
    value: T | null;
    problem: Problem | null;
  }>({ key, value: null, problem: null });
  const newest = useRef(load);
  newest.current = load;
  const again = useRef(() => {});

  useEffect(() => {
    let abort = new AbortController();

    async function loadOnce(): Promise<void> {
      abort.abort();
      const { signal } = abort = new AbortController();
      try {
        const value = await newest.current({ signal });
        if (!signal.aborted) setState({ key, value, problem: null });
      } catch (error) {
        if (signal.aborted) return;
        const problem = asProblem(error);
        setState((last) => ({
          key,
          value: last.key === key ? last.value : null,
          problem: live && problem.code === "unreachable" ? null : problem,
        }));
      }
    }

    again.current = loadOnce;
    loadOnce();
    const stop = live ? onChanges(loadOnce) : () => {};
    let lost = false;
    const unsubscribe = reachable.subscribe((answers) => {
      if (answers && lost) loadOnce();
      lost = !answers;
    });
    return () => {
      abort.abort();
      stop();
      unsubscribe();
    };
  }, [key, live]);

  const mine = state.key === key;
  return {
    value: mine ? state.value : null,
    problem: mine ? state.problem : null,
    reload: () => again.current(),
  };
}
