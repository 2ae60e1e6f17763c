// Buttons, and the actions behind them: busy while they run, with their problem beside them.

import type { ComponentChildren, Ref } from "preact";
import { useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../problem.ts";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  /** "primary": the main action. "danger": destructive. "quiet": secondary. */
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly busy?: boolean;
  readonly disabled?: boolean;
  /** The accessible name, where the text alone is not enough ("Deny send_mail"). */
  readonly label?: string;
  readonly title?: string;
  readonly pressed?: boolean;
  readonly small?: boolean;
  readonly buttonRef?: Ref<HTMLButtonElement>;
}

export function Button(props: ButtonProps) {
  const { kind = "plain", type = "button", busy = false } = props;
  return (
    <button
      ref={props.buttonRef}
      type={type}
      class={`button ${kind}${props.small ? " small" : ""}${busy ? " busy" : ""}`}
      onClick={() => {
        if (!busy) props.onClick?.();
      }}
      disabled={props.disabled}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      aria-label={props.label}
      aria-pressed={props.pressed}
      title={props.title}
    >
      {props.children}
    </button>
  );
}

export interface Action<Given extends unknown[]> {
  readonly busy: boolean;
  /** Why the last try failed; null once another starts. */
  readonly problem: Problem | null;
  /** Run the action, unless it is running already. Resolves when it ends, whether it succeeded or not. */
  readonly run: (...given: Given) => Promise<void>;
  readonly forget: () => void;
}

/** An action of a button. A second click while it runs does nothing. */
export function useAction<Given extends unknown[]>(
  does: (...given: Given) => Promise<unknown>,
): Action<Given> {
  const [state, setState] = useState<{ busy: boolean; problem: Problem | null }>({
    busy: false,
    problem: null,
  });
  const running = useRef(false);
  async function run(...given: Given): Promise<void> {
    if (running.current) return;
    running.current = true;
    setState({ busy: true, problem: null });
    try {
      await does(...given);
      setState({ busy: false, problem: null });
    } catch (error) {
      setState({ busy: false, problem: asProblem(error) });
    } finally {
      running.current = false;
    }
  }
  return { ...state, run, forget: () => setState({ busy: false, problem: null }) };
}
