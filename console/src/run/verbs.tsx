// What a person can do about one assignment: retry it, skip it, or supply its result.

import { useState } from "preact/hooks";
import { retryRun, skipSubtask, supplyResult } from "../api.ts";
import type { Json, JsonObject } from "../json.ts";
import { Problem } from "../problem.ts";
import { may } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { type Lane, lastAttempt } from "./model.ts";
import type { RunStore } from "./store.ts";
import { VerbDialog } from "./verb_dialog.tsx";
import { isOpen, isOver } from "./view.ts";

type Verb = "retry" | "args" | "skip" | "supply";

interface VerbsProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly lane: Lane;
  /** The whole arguments: those of the lane may be cut. */
  readonly args: JsonObject;
}

export function Verbs({ store, runId, lane, args }: VerbsProps) {
  const [verb, setVerb] = useState<Verb | null>(null);
  if (!lane.counts || !may("run")) return null;
  const objections = objectionsTo(lane, store);
  const dialog = {
    onDone: store.take.bind(store),
    onClose: () => setVerb(null),
  };
  return (
    <>
      <div class="buttons verbs">
        <VerbButton objection={objections.retry} onClick={() => setVerb("retry")}>
          Retry…
        </VerbButton>
        <VerbButton objection={objections.retry} onClick={() => setVerb("args")}>
          Change arguments…
        </VerbButton>
        <VerbButton objection={objections.skip} onClick={() => setVerb("skip")}>
          Skip…
        </VerbButton>
        <VerbButton objection={objections.supply} onClick={() => setVerb("supply")}>
          Supply result…
        </VerbButton>
      </div>
      {verb === "retry" && (
        <VerbDialog
          {...dialog}
          title={`Retry ${lane.label}?`}
          action="Retry"
          perform={(confirmed) => retryRun(runId, { subtasks: [lane.key], confirmed })}
        >
          <Kept />
        </VerbDialog>
      )}
      {verb === "args" && <OtherArguments {...dialog} runId={runId} lane={lane} args={args} />}
      {verb === "skip" && <Skip {...dialog} runId={runId} lane={lane} />}
      {verb === "supply" && <Supply {...dialog} runId={runId} lane={lane} />}
    </>
  );
}

function VerbButton(
  { objection, onClick, children }: { objection: string; onClick: () => void; children: string },
) {
  return (
    <Button small disabled={objection !== ""} title={objection || undefined} onClick={onClick}>
      {children}
    </Button>
  );
}

/** Return why each action is not possible now, "" where it is. */
function objectionsTo(
  lane: Lane,
  store: RunStore,
): { retry: string; skip: string; supply: string } {
  if (lane.superseded_by !== undefined) {
    const why = `Replaced by ${lane.superseded_by}`;
    return { retry: why, skip: why, supply: why };
  }
  const { status } = store.live.view.run;
  const driven = store.document.value?.owner !== null;
  const resting = status === "paused" || isOver(status) || !driven;
  const underWay = !resting && lastAttempt(lane)?.outcome === "running"
    ? "In progress. Pause the run first, or wait"
    : "";
  const done = lane.status === "completed";
  const accepted = done && lane.verdict?.verdict === "accept";
  return {
    retry: accepted
      ? "The result was accepted. Fork the run to repeat it"
      : isOpen(lane.status)
      ? "Nothing has failed"
      : "",
    skip: done || lane.status === "dropped" ? "Nothing to skip" : underWay,
    supply: done ? "Has a result" : underWay,
  };
}

function Kept() {
  return (
    <p>
      A new work order repeats it. All results and events are kept. A finished run continues and
      writes a new answer.
    </p>
  );
}

interface DialogProps {
  readonly runId: string;
  readonly lane: Lane;
  readonly onDone: RunStore["take"];
  readonly onClose: () => void;
}

function OtherArguments(
  { runId, lane, args, onDone, onClose }: DialogProps & { args: JsonObject },
) {
  const [written, setWritten] = useState(JSON.stringify(args, null, 2));
  const wrong = objectWrong(written);
  return (
    <VerbDialog
      title={`Retry ${lane.name} with other arguments`}
      action="Retry"
      onDone={onDone}
      onClose={onClose}
      perform={(confirmed) =>
        wrong ? Promise.reject(usage(wrong)) : retryRun(runId, {
          subtasks: [lane.key],
          args: JSON.parse(written) as JsonObject,
          confirmed,
        })}
    >
      <Kept />
      <Field label="Arguments (JSON)" wrong={wrong}>
        {(described) => (
          <textarea
            {...described}
            class="code"
            rows={8}
            spellcheck={false}
            value={written}
            onInput={(event) => setWritten(event.currentTarget.value)}
          />
        )}
      </Field>
    </VerbDialog>
  );
}

function Skip({ runId, lane, onDone, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  return (
    <VerbDialog
      title={`Skip ${lane.label}?`}
      action="Skip"
      kind="danger"
      onDone={onDone}
      onClose={onClose}
      perform={() => skipSubtask(runId, { subtask: lane.key, ...(reason && { reason }) })}
    >
      <p>
        The answer lists it as a gap, with your reason. Work that needs its result does not start.
        All other work is kept.
      </p>
      <Field label="Reason (shown in the answer)">
        {(described) => (
          <input
            {...described}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </Field>
    </VerbDialog>
  );
}

function Supply({ runId, lane, onDone, onClose }: DialogProps) {
  const [summary, setSummary] = useState("");
  const [raw, setRaw] = useState("");
  const wrong = raw.trim() ? jsonWrong(raw) : "";
  return (
    <VerbDialog
      title={`Supply the result of ${lane.label}`}
      action="Supply result"
      onDone={onDone}
      onClose={onClose}
      perform={() => {
        if (wrong) return Promise.reject(usage(wrong));
        const data = raw.trim() ? { raw: JSON.parse(raw) as Json } : {};
        return supplyResult(runId, { subtask: lane.key, summary, ...data });
      }}
    >
      <p>The log records that you supplied the result. No tool is called.</p>
      <Field label="Summary">
        {(described) => (
          <textarea
            {...described}
            required
            rows={3}
            value={summary}
            onInput={(event) => setSummary(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Data (JSON, optional)" wrong={wrong}>
        {(described) => (
          <textarea
            {...described}
            class="code"
            rows={3}
            spellcheck={false}
            value={raw}
            onInput={(event) => setRaw(event.currentTarget.value)}
          />
        )}
      </Field>
    </VerbDialog>
  );
}

function jsonWrong(written: string): string {
  try {
    JSON.parse(written);
    return "";
  } catch (error) {
    return `Not valid JSON: ${(error as Error).message}`;
  }
}

function objectWrong(written: string): string {
  const wrong = jsonWrong(written);
  if (wrong) return wrong;
  const value: unknown = JSON.parse(written);
  const object = typeof value === "object" && value !== null && !Array.isArray(value);
  return object ? "" : "Write a JSON object: { … }";
}

function usage(what: string): Problem {
  return new Problem({ status: 422, code: "usage", title: what });
}
