// Buttons, and the actions behind them: busy while they run, with their problem beside them.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../problem.ts";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  /** "primary": the main action. "danger": destructive. "quiet": secondary. */
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly busy?: boolean;
  /** Clicks are ignored for a moment. */
  readonly held?: boolean;
  readonly disabled?: boolean;
  /** The accessible name, where the text alone is not enough ("Deny send_mail"). */
  readonly label?: string;
  readonly title?: string;
  readonly pressed?: boolean;
  readonly small?: boolean;
}

export function Button(props: ButtonProps) {
  const { kind = "plain", type = "button", busy = false, held = false } = props;
  return (
    <button
      type={type}
      class={`button ${kind}${props.small ? " small" : ""}${busy ? " busy" : ""}`}
      onClick={() => {
        if (!busy && !held) props.onClick?.();
      }}
      disabled={props.disabled}
      aria-disabled={busy || held || undefined}
      aria-busy={busy || undefined}
      aria-label={props.label}
      aria-pressed={props.pressed}
      title={props.title}
    >
      {props.children}
    </button>
  );
}

interface Action<Args extends unknown[]> {
  readonly busy: boolean;
  /** Why the last try failed; null once another starts. */
  readonly problem: Problem | null;
  /** Run the action, unless it is running already. Never rejects: a failure becomes `problem`. */
  readonly run: (...args: Args) => Promise<void>;
  /** Forget the problem. */
  readonly clear: () => void;
}

/** An action of a button. A second click while it runs does nothing. */
export function useAction<Args extends unknown[]>(
  perform: (...args: Args) => Promise<unknown>,
): Action<Args> {
  const [state, setState] = useState<{ busy: boolean; problem: Problem | null }>({
    busy: false,
    problem: null,
  });
  const running = useRef(false);
  async function run(...args: Args): Promise<void> {
    if (running.current) return;
    running.current = true;
    setState({ busy: true, problem: null });
    try {
      await perform(...args);
      setState({ busy: false, problem: null });
    } catch (error) {
      setState({ busy: false, problem: asProblem(error) });
    } finally {
      running.current = false;
    }
  }
  return { ...state, run, clear: () => setState({ busy: false, problem: null }) };
}
