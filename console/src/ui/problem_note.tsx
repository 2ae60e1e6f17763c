// A problem, shown near its cause: what is wrong, and how to fix it.

import type { Problem } from "../problem.ts";

export function ProblemNote({ problem }: { problem: Problem | null | undefined }) {
  if (!problem) return null;
  return (
    <div class="problem" role="alert">
      <p>
        <span aria-hidden="true" class="problem-mark">▲</span> {problem.what}
      </p>
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((wrong) => (
            <li key={wrong.where}>
              <code>{wrong.where.replace(/^body\./, "")}</code>: {wrong.what}
            </li>
          ))}
        </ul>
      )}
      {problem.how && <p class="problem-how">{problem.how}</p>}
    </div>
  );
}
