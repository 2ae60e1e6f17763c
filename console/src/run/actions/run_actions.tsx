// The actions of a run: pause, resume, run again, retry what failed, fork, cancel. Destructive actions ask first.

import { useState } from "preact/hooks";
import { get, post } from "../../api.ts";
import { go } from "../../router.ts";
import { draftOf } from "../../runs/again.ts";
import { draft } from "../../runs/draft.ts";
import { may } from "../../session.ts";
import { announce } from "../../ui/announce.tsx";
import { Button, useAction } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Fold } from "../../ui/fold.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { ProblemNote } from "../../ui/problem_note.tsx";
import { typedLimits } from "../../form/limits.ts";
import type { Typed } from "../../form/schema.ts";
import { retriableOf } from "../state/lanes.ts";
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
  const { of } = store;
  const status = store.status.value;
  if (canResume(status, store.document.value?.owner)) {
    store.update(await post("/api/runs/{run_id}/resume", of, {}));
    announce("Run resumed");
  } else if (canPause(status)) {
    store.update(await post("/api/runs/{run_id}/pause", of, {}));
    announce("Pausing the run. Work in progress restarts when you resume it");
  }
}

const LimitFields = lazy("LimitFields");

export function RunActions({ store }: { store: RunStore }) {
  const status = store.status.value;
  const [open, setOpen] = useState<"fork" | "cancel" | null>(null);
  const toggling = useAction(() => pauseOrResume(store));
  const repeating = useAction(() => runAgain(store));
  if (!may("run")) return <More store={store} />;
  const number = store.view.counts.value;
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
        <Button disabled={store.view.seq.value < 2} onClick={() => setOpen("fork")}>Fork…</Button>
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
          perform={() => post("/api/runs/{run_id}/cancel", store.of, {})}
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
  const [limits, setLimits] = useState<Typed>({});
  const retriable = retriableOf(store.view.steps.value);
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
          perform={(confirmed) => {
            const body = { confirmed, limits: typedLimits(limits) };
            return post("/api/runs/{run_id}/retry", store.of, body);
          }}
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
  readonly typed: Typed;
  readonly onChange: (typed: Typed) => void;
}

function OtherLimits({ store, ...fields }: OtherLimitsProps) {
  return (
    <Fold summary="Other limits">
      <LimitFields run={store.document.value} {...fields} />
    </Fold>
  );
}

/** Fill the form for a new run with the request and the options of this one. */
async function runAgain({ of }: RunStore): Promise<void> {
  const [{ request }, first, { flows }] = await Promise.all([
    get("/api/runs/{run_id}", of),
    get("/api/runs/{run_id}/events/{seq}", { ...of, seq: 1 }),
    get("/api/flows", {}),
  ]);
  if (first.type !== "run_started") return;
  draft.value = draftOf(request, first.definition, flows);
  go("/runs?new");
}

function Fork({ store, onClose }: { store: RunStore; onClose: () => void }) {
  // A run that is over has nothing to continue after its last event.
  const seq = store.view.seq.value;
  const last = isOver(store.status.value)
    ? Math.max(1, (store.view.run.value.answer?.seq ?? seq) - 1)
    : seq;
  const [at, setAt] = useState(String(Math.min(last, selection.value.seq ?? last)));
  const [limits, setLimits] = useState<Typed>({});
  return (
    <ActionDialog
      title="Fork this run"
      action="Fork"
      perform={(confirmed) => {
        const body = { at: Number(at), confirmed, limits: typedLimits(limits) };
        return post("/api/runs/{run_id}/fork", store.of, body);
      }}
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
