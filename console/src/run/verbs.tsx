// What a person can do about one subtask: have it done again, leave it out, or give its result.

import { useState } from "preact/hooks";
import { retryRun, skipSubtask, supplyResult } from "../api.ts";
import type { Json, JsonObject } from "../documents.ts";
import { Problem } from "../problem.ts";
import { may } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { isOpen, type Lane } from "./lane.ts";
import { isOver, type RunStore } from "./store.ts";
import { VerbDialog } from "./verb_dialog.tsx";

type Verb = "retry" | "args" | "skip" | "supply";

interface VerbsProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly lane: Lane;
  /** The arguments, whole: what stands in the lane may be cut. */
  readonly args: JsonObject;
}

export function Verbs({ store, runId, lane, args }: VerbsProps) {
  const [verb, setVerb] = useState<Verb | null>(null);
  if (!lane.subtask || !may("run")) return null;
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
          With other arguments…
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
          title={`Do ${lane.label} again?`}
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

/** Why each verb cannot be done now, "" where it can: what the service would say, before it is asked. */
function objectionsTo(
  lane: Lane,
  store: RunStore,
): { retry: string; skip: string; supply: string } {
  if (lane.supersededBy !== null) {
    const told = `It was done again as ${lane.supersededBy}`;
    return { retry: told, skip: told, supply: told };
  }
  const { status } = store.live;
  const driven = store.document.value?.owner !== null;
  const resting = status === "paused" || isOver(status) || !driven;
  const underWay = !resting && lane.attempts.at(-1)?.outcome === "running"
    ? "It is under way: pause the run first, or wait"
    : "";
  const done = lane.status === "completed";
  const accepted = done && lane.verdict?.verdict === "accept";
  return {
    retry: accepted
      ? "It was accepted: fork the run to do it in another way"
      : isOpen(lane.status)
      ? "It has not failed"
      : "",
    skip: done || lane.status === "dropped" ? "There is nothing to leave out" : underWay,
    supply: done ? "It has a result already" : underWay,
  };
}

function Kept() {
  return (
    <p>
      It goes into an order of its own. What was finished stays as it is, and so does every event;
      {" "}
      a run that is over goes on and comes to another answer.
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
      title={`Do ${lane.name} again with other arguments`}
      action="Retry with these"
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
      <Field label="All arguments, as JSON" wrong={wrong}>
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
      title={`Leave ${lane.label} out?`}
      action="Leave it out"
      kind="danger"
      onDone={onDone}
      onClose={onClose}
      perform={() => skipSubtask(runId, { subtask: lane.key, ...(reason && { reason }) })}
    >
      <p>
        The answer will name it as a gap, with your reason. What needs it will not be started. All
        other work is kept.
      </p>
      <Field label="Why (others will read it)">
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
      title={`Give the result of ${lane.label}`}
      action="Supply this result"
      onDone={onDone}
      onClose={onClose}
      perform={() => {
        if (wrong) return Promise.reject(usage(wrong));
        const data = raw.trim() ? { raw: JSON.parse(raw) as Json } : {};
        return supplyResult(runId, { subtask: lane.key, summary, ...data });
      }}
    >
      <p>It counts as done on your word, and the log says so. Nothing is called.</p>
      <Field label="The result in words">
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
      <Field label="Data, as JSON (if others need it)" wrong={wrong}>
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
    return `This is no JSON: ${(error as Error).message}`;
  }
}

function objectWrong(written: string): string {
  const wrong = jsonWrong(written);
  if (wrong) return wrong;
  const value: unknown = JSON.parse(written);
  const object = typeof value === "object" && value !== null && !Array.isArray(value);
  return object ? "" : "Arguments are a JSON object: { … }";
}

function usage(what: string): Problem {
  return new Problem({ status: 422, code: "usage", title: what });
}
