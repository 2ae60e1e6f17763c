// The verbs of a run: pause, resume, retry what failed, fork, cancel. What takes something away asks first.

import { useState } from "preact/hooks";
import { cancelRun, forkRun, pauseRun, resumeRun, retryRun } from "../api.ts";
import { go } from "../router.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { chosen } from "./chosen.ts";
import { isOver, type RunStore } from "./store.ts";
import { VerbDialog } from "./verb_dialog.tsx";

interface RunVerbsProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly status: string;
}

function canPause(status: string): boolean {
  return status === "running" || status === "waiting";
}

/** A run that is paused, or that no process carries out though it should be. */
function canResume(status: string, owner: string | null | undefined): boolean {
  return status === "paused" || (status === "running" && owner === null);
}

/** Pauses a run that goes on, resumes one that does not. */
export async function pauseOrResume(store: RunStore, runId: string, status: string): Promise<void> {
  if (canResume(status, store.document.value?.owner)) {
    store.take(await resumeRun(runId));
    announce("The run goes on");
  } else if (canPause(status)) {
    store.take(await pauseRun(runId));
    announce("The run is being paused: what is under way is done again when it goes on");
  }
}

export function RunVerbs({ store, runId, status }: RunVerbsProps) {
  const [asking, setAsking] = useState<"retry" | "fork" | "cancel" | null>(null);
  const turning = useAction(() => pauseOrResume(store, runId, status));
  if (!may("run")) return null;
  const model = store.live;
  const over = isOver(status);
  const resumable = canResume(status, store.document.value?.owner);
  const failed = model.retriable;
  const dialog = { onDone: store.take.bind(store), onClose: () => setAsking(null) };
  return (
    <div class="run-verbs">
      <div class="buttons">
        <Button
          busy={turning.busy}
          kind={resumable ? "primary" : "plain"}
          disabled={!resumable && !canPause(status)}
          onClick={turning.run}
        >
          {resumable ? "Resume" : "Pause"}
        </Button>
        <Button
          disabled={failed === 0}
          title={failed === 0 ? "No subtask has failed" : undefined}
          onClick={() => setAsking("retry")}
        >
          {failed > 0 ? `Retry failed (${failed})` : "Retry failed"}
        </Button>
        <Button disabled={model.seq < 2} onClick={() => setAsking("fork")}>Fork…</Button>
        <Button kind="danger" disabled={over} onClick={() => setAsking("cancel")}>Cancel…</Button>
      </div>
      <ProblemNote problem={turning.problem} />
      {asking === "retry" && (
        <VerbDialog
          {...dialog}
          title={failed === 1
            ? "Do the failed subtask again?"
            : `Do ${failed} failed subtasks again?`}
          action="Retry"
          perform={(confirmed) => retryRun(runId, { confirmed })}
        >
          <p>
            What failed is done again in an order of its own. Every finished result and every event
            is kept; a run that is over goes on and comes to another answer.
          </p>
        </VerbDialog>
      )}
      {asking === "fork" && <Fork store={store} runId={runId} onClose={dialog.onClose} />}
      {asking === "cancel" && (
        <VerbDialog
          {...dialog}
          title="Cancel this run?"
          action="Cancel the run"
          kind="danger"
          perform={() => cancelRun(runId)}
        >
          <p>
            What is under way is stopped and nothing new starts. All that was finished is kept:{" "}
            {model.done.toLocaleString("en")} of {model.total.toLocaleString("en")}{" "}
            subtasks, the log, and an answer from what there is. To stop for a while, pause it.
          </p>
        </VerbDialog>
      )}
    </div>
  );
}

function Fork(
  { store, runId, onClose }: { store: RunStore; runId: string; onClose: () => void },
) {
  const last = store.live.seq;
  const [at, setAt] = useState(String(chosen.value.seq ?? last));
  return (
    <VerbDialog
      title="Fork this run"
      action="Fork"
      perform={(confirmed) => forkRun(runId, { at: Number(at), confirmed })}
      onDone={(document) => go(`/runs/${encodeURIComponent(document.run_id)}`)}
      onClose={onClose}
    >
      <p>
        A new run takes over everything up to an event, results included, and goes on from there by
        itself. This run stays as it is.
      </p>
      <Field label="The last event to take over" hint={`1 to ${last.toLocaleString("en")}`}>
        {(described) => (
          <input
            {...described}
            type="number"
            required
            min={1}
            max={last}
            value={at}
            onInput={(event) => setAt(event.currentTarget.value)}
          />
        )}
      </Field>
    </VerbDialog>
  );
}
