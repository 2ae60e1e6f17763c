// A lane's attempts as bars on the time axis, the calls of each as marks within it, waits before a retry as dots.

import { duration } from "../formats.ts";
import type { Attempt, Lane } from "./lane.ts";
import { OUTCOME_WORDS } from "./marks.ts";
import type { Scale } from "./scale.ts";

const LEAST_WIDTH = 3;
/** Marks of one bar that are drawn; an attempt with more shows its last ones. */
const MOST_MARKS = 60;

export function Bars({ lane, scale, to }: { lane: Lane; scale: Scale; to: number }) {
  return (
    <div class="track" role="gridcell">
      <span class="unseen">{told(lane, to)}</span>
      {lane.attempts.map((attempt, index) => (
        <Bar
          key={attempt.id}
          attempt={attempt}
          before={lane.attempts[index - 1]}
          scale={scale}
          to={to}
        />
      ))}
    </div>
  );
}

interface BarProps {
  readonly attempt: Attempt;
  readonly before: Attempt | undefined;
  readonly scale: Scale;
  readonly to: number;
}

function Bar({ attempt, before, scale, to }: BarProps) {
  return (
    <>
      {before?.end != null && (
        <Wait
          from={scale.x(before.end)}
          to={scale.x(attempt.start ?? Math.max(attempt.notBefore ?? 0, attempt.scheduledAt))}
          retry={before.outcome === "failed" || before.outcome === "lost"}
        />
      )}
      {attempt.start !== null && (
        <Span attempt={attempt} start={attempt.start} scale={scale} to={to} />
      )}
    </>
  );
}

function Wait({ from, to, retry }: { from: number; to: number; retry: boolean }) {
  if (to - from < 1) return null;
  return (
    <span
      class={retry ? "wait retry" : "wait"}
      style={{ left: `${from}px`, width: `${to - from}px` }}
    />
  );
}

function Span(
  { attempt, start, scale, to }: { attempt: Attempt; start: number; scale: Scale; to: number },
) {
  const left = scale.x(start);
  const end = attempt.end ?? to;
  const width = Math.max(LEAST_WIDTH, scale.x(end) - left);
  const inside = (at: number) => Math.max(0, Math.min(width, scale.x(at) - left));
  const took = duration((end - start) / 1000);
  const failure = attempt.failure ? `: ${attempt.failure.message}` : "";
  return (
    <span
      class={`bar o-${attempt.outcome}`}
      style={{ left: `${left}px`, width: `${width}px` }}
      title={`Attempt ${attempt.number}, ${OUTCOME_WORDS[attempt.outcome]}, ${took}${failure}`}
    >
      {width > 5 && attempt.calls.slice(-MOST_MARKS).map((call) => (
        <i
          key={call.seq}
          class={`mark ${call.kind}${call.ok === false ? " bad" : ""}`}
          style={{
            left: `${inside(call.began)}px`,
            width: `${Math.max(2, inside(call.ended ?? end) - inside(call.began))}px`,
          }}
        />
      ))}
    </span>
  );
}

/** The bars in words, for those who do not see them. */
function told(lane: Lane, to: number): string {
  return lane.attempts.filter((attempt) => attempt.start !== null).map((attempt) => {
    const took = duration(((attempt.end ?? to) - attempt.start!) / 1000);
    return `attempt ${attempt.number}: ${OUTCOME_WORDS[attempt.outcome]}, ${took}`;
  }).join("; ") || "no attempt yet";
}
