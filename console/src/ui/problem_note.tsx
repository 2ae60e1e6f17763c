// A problem, shown near its cause: what went wrong, and what to do about it.

import type { ComponentChildren } from "preact";
import { reachable } from "../connection.ts";
import type { Problem } from "../problem.ts";

interface ProblemBoxProps {
  readonly what: ComponentChildren;
  readonly how?: ComponentChildren;
  /** Whether screen readers announce it when it appears. */
  readonly alert?: boolean;
  /** Nothing has gone wrong. */
  readonly neutral?: boolean;
  readonly children?: ComponentChildren;
}

export function ProblemBox({ what, how, alert, neutral, children }: ProblemBoxProps) {
  return (
    <div class={`problem${neutral ? " neutral" : ""}`} role={alert ? "alert" : undefined}>
      <p>
        {!neutral && <span aria-hidden="true" class="problem-mark">▲</span>} {what}
      </p>
      {children}
      {how && <p class="problem-how">{how}</p>}
    </div>
  );
}

export function ProblemNote({ problem }: { problem: Problem | null | undefined }) {
  if (!problem) return null;
  const { code, errors } = problem;
  if (code === "unreachable" && reachable.value) return null; // it is back
  const invalid = code === "invalid" && errors.length > 0; // then the errors say it all
  return (
    <ProblemBox
      alert
      what={invalid ? "The input is not valid." : problem.what}
      how={invalid ? "" : problem.how}
    >
      {errors.length > 0 && (
        <ul>
          {errors.map(({ where, what }) => (
            <li key={where}>
              <code>{where.replace(/^body\./, "")}</code>: {what}
            </li>
          ))}
        </ul>
      )}
    </ProblemBox>
  );
}
