// Draw attempts as bars on the time axis, their calls as marks on the bars, and waits between attempts as lines.

import { duration } from "../../formats.ts";
import { isCancelled, OUTCOME_WORDS } from "../words.ts";
import { attemptsOf, type Lane, type NumberedAttempt } from "../state/lanes.ts";
import type { Scale } from "./scale.ts";
import { millis } from "../state/view.ts";

const MIN_WIDTH = 3;
/** The calls of one attempt that are drawn: the last ones. */
const MAX_MARKS = 60;

export function Bars({ lane, scale, to }: { lane: Lane; scale: Scale; to: number }) {
  const attempts = attemptsOf(lane);
  return (
    <div class="track" role="gridcell">
      <span class="unseen">{describe(attempts, to)}</span>
      {attempts.map((attempt, index) => (
        <Bar
          key={attempt.number}
          attempt={attempt}
          before={attempts[index - 1]}
          scale={scale}
          to={to}
        />
      ))}
    </div>
  );
}

interface BarProps {
  readonly attempt: NumberedAttempt;
  readonly before: NumberedAttempt | undefined;
  readonly scale: Scale;
  readonly to: number;
}

function Bar({ attempt, before, scale, to }: BarProps) {
  const start = millis(attempt.started_at);
  const ended = millis(before?.ended_at);
  const due = Math.max(millis(attempt.not_before) ?? 0, Date.parse(attempt.scheduled_at));
  return (
    <>
      {before && ended !== null && (
        <Wait
          from={scale.x(ended)}
          to={scale.x(start ?? due)}
          retry={before.outcome === "failed" || before.outcome === "lost"}
        />
      )}
      {start !== null && <Span attempt={attempt} start={start} scale={scale} to={to} />}
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
  { attempt, start, scale, to }: {
    attempt: NumberedAttempt;
    start: number;
    scale: Scale;
    to: number;
  },
) {
  const end = millis(attempt.ended_at) ?? to;
  const left = scale.x(Math.min(start, to));
  const width = Math.max(MIN_WIDTH, scale.x(Math.min(end, to)) - left);
  const inside = (at: number) => Math.max(0, Math.min(width, scale.x(at) - left));
  const took = duration((end - start) / 1000);
  const failure = attempt.failure ? `: ${attempt.failure.message}` : "";
  const outcome = isCancelled(attempt.failure) ? "stopped" : attempt.outcome;
  return (
    <span
      class={`bar o-${outcome}`}
      style={{ left: `${left}px`, width: `${width}px` }}
      title={`Attempt ${attempt.number}, ${OUTCOME_WORDS[outcome]}, ${took}${failure}`}
    >
      {width > 5 && Object.entries(attempt.calls).slice(-MAX_MARKS).map(([seq, call]) => (
        <i
          key={seq}
          class={`mark ${call.kind}${call.ok === false ? " bad" : ""}`}
          style={{
            left: `${inside(Date.parse(call.began_at))}px`,
            width: `${
              Math.max(2, inside(millis(call.ended_at) ?? end) - inside(Date.parse(call.began_at)))
            }px`,
          }}
        />
      ))}
    </span>
  );
}

/** Return the attempts in words, for screen readers. */
function describe(attempts: readonly NumberedAttempt[], to: number): string {
  return attempts.filter((attempt) => attempt.started_at !== undefined).map((attempt) => {
    const took = duration(((millis(attempt.ended_at) ?? to) - millis(attempt.started_at)!) / 1000);
    return `attempt ${attempt.number}: ${OUTCOME_WORDS[attempt.outcome]}, ${took}`;
  }).join("; ") || "no attempts yet";
}
