// A problem, shown near its cause: what went wrong, and what to do about it.

import type { ComponentChildren } from "preact";
import { reachable } from "../connection.ts";
import type { Problem } from "../problem.ts";

interface ProblemBoxProps {
  readonly what: ComponentChildren;
  readonly how?: ComponentChildren;
  /** Whether screen readers announce it when it appears. */
  readonly alert?: boolean;
  /** "neutral": nothing has gone wrong; "mild": worth knowing. */
  readonly tone?: "neutral" | "mild";
  readonly children?: ComponentChildren;
}

export function ProblemBox({ what, how, alert, tone, children }: ProblemBoxProps) {
  return (
    <div class={`problem ${tone ?? ""}`} role={alert ? "alert" : undefined}>
      <p>
        {tone !== "neutral" && <span aria-hidden="true" class="problem-mark">▲</span>} {what}
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
