// What went wrong with a run and what to do next, above everything else on its screen.

import { useState } from "preact/hooks";
import { count, duration } from "../formats.ts";
import { may } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { lazy } from "../ui/lazy.tsx";
import { ProblemBox } from "../ui/problem_note.tsx";
import { FailureBadge } from "./answer.tsx";
import { type Cause, causesOf } from "./gaps.ts";
import { ranOut } from "./limits.ts";
import { missingLanes, type Model } from "./model.ts";
import { RetryFailed } from "./run_actions.tsx";
import { eventLink, showGaps } from "./selection.ts";
import type { RunStore } from "./store.ts";
import { isOver, millis } from "./view.ts";

const ContinueDialog = lazy("ContinueDialog");

export function Outcome({ store }: { store: RunStore }) {
  const { status } = store;
  const document = store.document.value;
  if (status === "running" && document?.owner === null && document.last_seq >= store.live.seq) {
    return (
      <ProblemBox
        alert
        what="No process is executing this run. Finished work is kept."
        how="Resume the run to continue it here."
      />
    );
  }
  if (status === "cancelled") return <Cancelled model={store.live} />;
  if (!isOver(status)) return null;
  return (
    <>
      <Missing store={store} />
      <Failed store={store} />
      <RanOut store={store} />
    </>
  );
}

function Cancelled({ model }: { model: Model }) {
  const { run, counts: { current } } = model.view;
  const lasted = (millis(run.finished_at) ?? model.lastAt) - model.startedAt;
  return (
    <ProblemBox
      tone="neutral"
      what={`Cancelled${run.cancelled_by ? ` by ${run.cancelled_by}` : ""} after ${
        duration(lasted / 1000)
      }. ${current.completed} of ${count(current.total, "subtask")} completed.`}
    />
  );
}

function Failed({ store }: { store: RunStore }) {
  const { run } = store.live.view;
  const over = store.status === "failed";
  const writer = store.live.byKey.get("compose");
  const unwritten = !over && writer?.status === "failed";
  // The view has what is needed to draw it at once, so that nothing moves when the document arrives.
  const failure = store.document.value?.failure ?? (unwritten ? writer.failure : null);
  if (!failure && !over) return null;
  const event = run.first_problem ?? store.live.lastAnswer?.seq;
  return (
    <ProblemBox
      alert={over}
      tone={over ? undefined : "mild"}
      what={
        <>
          {unwritten && "The answer is a plain list, because the model's text was rejected: "}
          <span dir="auto">{failure?.message ?? (run.reason || "The run failed.")}</span>{" "}
          {failure && <FailureBadge name={failure.class} />}{" "}
          {over && event !== undefined && (
            <a href={eventLink(event)}>First problem: event {event}</a>
          )}
        </>
      }
      how={failure?.next_action && `Next step: ${failure.next_action}`}
    />
  );
}

/** A run that ended at a limit can continue with another. */
function RanOut({ store }: { store: RunStore }) {
  const [open, setOpen] = useState(false);
  const document = store.document.value;
  if (document === null || store.status === "succeeded" || !may("run")) return null;
  const before = Object.values(store.live.view.run.answers).at(-2)?.seq ?? 0;
  const reason = ranOut(document, store.live.lanes, before);
  if (!reason) return null;
  return (
    <ProblemBox
      tone="mild"
      what={
        <>
          <strong>A limit is used up</strong>
          {reason !== document.failure?.message && (
            <>
              : <span dir="auto">{reason}</span>
            </>
          )}
        </>
      }
    >
      <div class="buttons">
        <Button small onClick={() => setOpen(true)}>Continue with more…</Button>
      </div>
      {open && <ContinueDialog store={store} onClose={() => setOpen(false)} />}
    </ProblemBox>
  );
}

const MAX_CAUSES = 3;

function Missing({ store }: { store: RunStore }) {
  const model = store.live;
  const { current } = model.view.counts;
  const missing = missingLanes(model);
  if (missing.length === 0) return null;
  const causes = causesOf(missing);
  const further = causes.length - MAX_CAUSES;
  return (
    <ProblemBox
      what={
        <strong>
          {missing.length.toLocaleString("en")} of {count(current.total, "part")}{" "}
          {missing.length === 1 ? "is" : "are"} missing
        </strong>
      }
    >
      <ul class="causes">
        {causes.slice(0, MAX_CAUSES).map((cause, at) => <CauseWords key={at} cause={cause} />)}
        {further > 0 && <li>{count(further, "other cause")}</li>}
      </ul>
      <div class="buttons">
        <Button small onClick={showGaps}>Show</Button>
        {may("run") && current.retriable > 0 && <RetryFailed store={store} small />}
      </div>
    </ProblemBox>
  );
}

function CauseWords({ cause: { parts, reason, same, class: kind } }: { cause: Cause }) {
  return (
    <li>
      {parts.length > 1 && `${parts.length.toLocaleString("en")} × `}
      <span dir="auto">{reason}</span>
      {!same && <span class="muted">, and the like</span>} <FailureBadge name={kind} />
    </li>
  );
}
