// The actions of a run: pause, resume, run again, retry what failed, fork, cancel. Destructive actions ask first.

import { useState } from "preact/hooks";
import {
  cancelRun,
  forkRun,
  getEvent,
  getFlows,
  getRun,
  pauseRun,
  resumeRun,
  retryRun,
} from "../../api.ts";
import { go } from "../../router.ts";
import { draftOf } from "../../runs/again.ts";
import { draft } from "../../runs/draft.ts";
import { may } from "../../session.ts";
import { announce } from "../../ui/announce.tsx";
import { Button, useAction } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { ProblemNote } from "../../ui/problem_note.tsx";
import { type TypedLimits, typedLimits } from "./limits.ts";
import { countsOf, retriableOf } from "../state/model.ts";
import { selection } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { ActionDialog } from "./action_dialog.tsx";
import { More } from "./more.tsx";
import { isOver } from "../state/view.ts";

function canPause(status: string): boolean {
  return status === "running" || status === "waiting";
}

/** Return whether a run is paused, or running without a process that executes it. */
function canResume(status: string, owner: string | null | undefined): boolean {
  return status === "paused" || (status === "running" && owner === null);
}

/** Pause a run that is being executed, resume a run that is not. */
export async function pauseOrResume(store: RunStore): Promise<void> {
  const { runId, status } = store;
  if (canResume(status, store.document.value?.owner)) {
    store.update(await resumeRun(runId));
    announce("Run resumed");
  } else if (canPause(status)) {
    store.update(await pauseRun(runId));
    announce("Pausing the run. Work in progress restarts when you resume it");
  }
}

const LimitFields = lazy("LimitFields");

export function RunActions({ store }: { store: RunStore }) {
  const { runId, status } = store;
  const [open, setOpen] = useState<"fork" | "cancel" | null>(null);
  const toggling = useAction(() => pauseOrResume(store));
  const repeating = useAction(() => runAgain(store));
  if (!may("run")) return <More store={store} />;
  const model = store.live;
  const number = countsOf(model);
  const [completed, total] = [number("completed"), number()];
  const over = isOver(status);
  const resumable = canResume(status, store.document.value?.owner);
  // The outcome of a run that is over offers its one next step.
  const [next] = over ? store.document.value?.outcome.actions ?? [] : [];
  const dialog = { onDone: store.update.bind(store), onClose: () => setOpen(null) };
  return (
    <div class="run-actions">
      <div class="buttons">
        {over
          ? (
            <Button
              busy={repeating.busy}
              title="Start another run with this request and these options, or with others"
              onClick={repeating.run}
            >
              Run again…
            </Button>
          )
          : (
            <Button
              busy={toggling.busy}
              kind={resumable ? "primary" : "plain"}
              disabled={!resumable && !canPause(status)}
              onClick={toggling.run}
            >
              {resumable ? "Resume" : "Pause"}
            </Button>
          )}
        {next?.action !== "retry" && <RetryFailed store={store} />}
        <Button disabled={model.seq < 2} onClick={() => setOpen("fork")}>Fork…</Button>
        {!over && <Button kind="danger" onClick={() => setOpen("cancel")}>Cancel…</Button>}
        <More store={store} />
      </div>
      <ProblemNote problem={toggling.problem ?? repeating.problem} />
      {open === "fork" && <Fork store={store} onClose={dialog.onClose} />}
      {open === "cancel" && (
        <ActionDialog
          {...dialog}
          title="Cancel this run?"
          action="Cancel run"
          dismiss="Keep running"
          kind="danger"
          perform={() => cancelRun(runId)}
        >
          <p>
            Work in progress stops and nothing new starts. Finished work is kept:{" "}
            {completed.toLocaleString("en")} of {total.toLocaleString("en")}{" "}
            subtasks, the event log, and an answer from the results so far. To stop for a while,
            pause the run instead.
          </p>
        </ActionDialog>
      )}
    </div>
  );
}

interface RetryProps {
  readonly store: RunStore;
  readonly small?: boolean;
  readonly kind?: "plain" | "primary";
}

/** The button that retries what failed, and its dialog; nothing if nothing has failed. */
export function RetryFailed({ store, ...button }: RetryProps) {
  const [open, setOpen] = useState(false);
  const [limits, setLimits] = useState<TypedLimits>({});
  const retriable = retriableOf(store.live);
  if (retriable === 0) return null;
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)}>
        Retry failed ({retriable.toLocaleString("en")})
      </Button>
      {open && (
        <ActionDialog
          title={retriable === 1
            ? "Retry the failed subtask?"
            : `Retry ${retriable.toLocaleString("en")} failed subtasks?`}
          action="Retry"
          perform={(confirmed) => retryRun(store.runId, { confirmed, limits: typedLimits(limits) })}
          onDone={store.update.bind(store)}
          onClose={() => setOpen(false)}
        >
          <p>
            A new work order repeats what failed. All results and events are kept. A finished run
            continues and writes a new answer.
          </p>
          <OtherLimits store={store} typed={limits} onChange={setLimits} />
        </ActionDialog>
      )}
    </>
  );
}

interface OtherLimitsProps {
  readonly store: RunStore;
  readonly typed: TypedLimits;
  readonly onChange: (typed: TypedLimits) => void;
}

function OtherLimits({ store, ...fields }: OtherLimitsProps) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Other limits</summary>
      {open && <LimitFields run={store.document.value} {...fields} />}
    </details>
  );
}

/** Fill the form for a new run with the request and the options of this one. */
async function runAgain({ runId }: RunStore): Promise<void> {
  const [document, first, flows] = await Promise.all([
    getRun(runId),
    getEvent(runId, 1),
    getFlows(),
  ]);
  if (first.type !== "run_started") return;
  draft.value = draftOf(document.request, first.definition, flows.flows);
  go("/runs?new");
}

function Fork({ store, onClose }: { store: RunStore; onClose: () => void }) {
  // A run that is over has nothing to continue after its last event.
  const ended = isOver(store.status) ? store.live.view.run.answer?.seq ?? store.live.seq : null;
  const last = ended === null ? store.live.seq : Math.max(1, ended - 1);
  const [at, setAt] = useState(String(Math.min(last, selection.value.seq ?? last)));
  const [limits, setLimits] = useState<TypedLimits>({});
  return (
    <ActionDialog
      title="Fork this run"
      action="Fork"
      perform={(confirmed) =>
        forkRun(store.runId, { at: Number(at), confirmed, limits: typedLimits(limits) })}
      onDone={(document) => go(`/runs/${encodeURIComponent(document.run_id)}`)}
      onClose={onClose}
    >
      <p>
        A new run copies everything up to an event, results included, and continues from there. This
        run does not change.
      </p>
      <TextField
        label="Last event to copy"
        hint={`1 to ${last.toLocaleString("en")}`}
        type="number"
        required
        min={1}
        max={last}
        value={at}
        onInput={setAt}
      />
      <OtherLimits store={store} typed={limits} onChange={setLimits} />
    </ActionDialog>
  );
}
