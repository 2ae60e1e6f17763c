// How a run stands, why, and what to do next, above everything else on its screen: as the run document has it.

import { useState } from "preact/hooks";
import { may } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { ProblemBox } from "../../ui/problem_note.tsx";
import type { Action } from "../../wire.ts";
import { firstProblemOf } from "../state/lanes.ts";
import { RetryFailed } from "./run_actions.tsx";
import { eventLink, showFollowUp } from "../selection.ts";
import type { RunStore } from "../state/store.ts";

const ContinueDialog = lazy("ContinueDialog");

const SHOWN = new Set(["partial", "failed", "cancelled"]);
const MAX_CAUSES = 3;

export function Outcome({ store }: { store: RunStore }) {
  const status = store.status.value;
  const document = store.document.value;
  if (
    status === "running" && document?.owner === null && document.last_seq >= store.view.seq.value
  ) {
    return (
      <ProblemBox
        alert
        what="No process is executing this run. Finished work is kept."
        how="Resume the run to continue it here."
      />
    );
  }
  if (document?.status !== status || !SHOWN.has(status)) return null;
  const { outcome: { headline, causes, actions: [next] }, failure } = document;
  const failed = status === "failed";
  const first = failed ? firstProblemOf(store.view.steps.value) : undefined;
  const advised = document.gaps.length > 0 || next?.primary;
  return (
    <ProblemBox
      alert={failed}
      tone={failed ? undefined : status === "cancelled" ? "neutral" : "mild"}
      what={<strong>{headline}</strong>}
      how={!advised && failure?.next_action && `Next step: ${failure.next_action}`}
    >
      <ul class="causes">
        {causes.slice(0, MAX_CAUSES).map((cause, at) => <li key={at} dir="auto">{cause}</li>)}
        {causes.length > MAX_CAUSES && <li>And {causes.length - MAX_CAUSES} more</li>}
      </ul>
      {first !== undefined && (
        <p>
          <a href={eventLink(first)}>First problem: event {first}</a>
        </p>
      )}
      {may("run") && next && (
        <div class="buttons">
          <NextStep store={store} action={next} />
        </div>
      )}
    </ProblemBox>
  );
}

/** The first action, as on the command line; others have their places elsewhere on the screen. */
function NextStep({ store, action: { action, primary } }: { store: RunStore; action: Action }) {
  const kind = primary ? "primary" : "plain";
  const [open, setOpen] = useState(false);
  switch (action) {
    case "resume":
      return (
        <>
          <Button small kind={kind} onClick={() => setOpen(true)}>Continue with more…</Button>
          {open && <ContinueDialog store={store} onClose={() => setOpen(false)} />}
        </>
      );
    case "retry":
      return <RetryFailed store={store} small kind={kind} />;
    case "follow_up":
      return <Button small kind={kind} onClick={showFollowUp}>Follow up…</Button>;
    default:
      return null;
  }
}
