// The actions of a run: pause, resume, retry what failed, fork, cancel. Destructive actions ask first.

import { useState } from "preact/hooks";
import { cancelRun, forkRun, pauseRun, resumeRun, retryRun } from "../api.ts";
import { go } from "../router.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { selection } from "./selection.ts";
import type { RunStore } from "./store.ts";
import { ActionDialog } from "./action_dialog.tsx";
import { isOver } from "./view.ts";

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

export function RunActions({ store }: { store: RunStore }) {
  const { runId, status } = store;
  const [open, setOpen] = useState<"retry" | "fork" | "cancel" | null>(null);
  const toggling = useAction(() => pauseOrResume(store));
  if (!may("run")) return null;
  const model = store.live;
  const { current } = model.view.counts;
  const over = isOver(status);
  const resumable = canResume(status, store.document.value?.owner);
  const { retriable } = current;
  const dialog = { onDone: store.update.bind(store), onClose: () => setOpen(null) };
  return (
    <div class="run-actions">
      <div class="buttons">
        <Button
          busy={toggling.busy}
          kind={resumable ? "primary" : "plain"}
          disabled={!resumable && !canPause(status)}
          onClick={toggling.run}
        >
          {resumable ? "Resume" : "Pause"}
        </Button>
        <Button
          disabled={retriable === 0}
          title={retriable === 0 ? "Nothing has failed" : undefined}
          onClick={() => setOpen("retry")}
        >
          {retriable > 0 ? `Retry failed (${retriable})` : "Retry failed"}
        </Button>
        <Button disabled={model.seq < 2} onClick={() => setOpen("fork")}>Fork…</Button>
        <Button kind="danger" disabled={over} onClick={() => setOpen("cancel")}>Cancel…</Button>
      </div>
      <ProblemNote problem={toggling.problem} />
      {open === "retry" && (
        <ActionDialog
          {...dialog}
          title={retriable === 1
            ? "Retry the failed subtask?"
            : `Retry ${retriable} failed subtasks?`}
          action="Retry"
          perform={(confirmed) => retryRun(runId, { confirmed })}
        >
          <p>
            A new work order repeats what failed. All results and events are kept. A finished run
            continues and writes a new answer.
          </p>
        </ActionDialog>
      )}
      {open === "fork" && <Fork store={store} onClose={dialog.onClose} />}
      {open === "cancel" && (
        <ActionDialog
          {...dialog}
          title="Cancel this run?"
          action="Cancel run"
          kind="danger"
          perform={() => cancelRun(runId)}
        >
          <p>
            Work in progress stops and nothing new starts. Finished work is kept:{" "}
            {current.completed.toLocaleString("en")} of {current.total.toLocaleString("en")}{" "}
            subtasks, the event log, and an answer from the results so far. To stop for a while,
            pause the run instead.
          </p>
        </ActionDialog>
      )}
    </div>
  );
}

function Fork({ store, onClose }: { store: RunStore; onClose: () => void }) {
  const last = store.live.seq;
  const [at, setAt] = useState(String(selection.value.seq ?? last));
  return (
    <ActionDialog
      title="Fork this run"
      action="Fork"
      perform={(confirmed) => forkRun(store.runId, { at: Number(at), confirmed })}
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
    </ActionDialog>
  );
}
