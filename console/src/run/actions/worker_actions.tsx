// The actions on one step: retry it, skip it, or supply its result.

import { useState } from "preact/hooks";
import { post } from "../../api.ts";
import { type JsonObject, type Parsed, parseJson, parseObject } from "../../json.ts";
import { Problem } from "../../problem.ts";
import { may } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { JsonArea, TextArea, TextField, useText } from "../../ui/field.tsx";
import { ActionDialog } from "./action_dialog.tsx";
import { isRunning, type Lane } from "../state/lanes.ts";
import type { RunStore } from "../state/store.ts";
import { isOpen, isOver } from "../state/view.ts";

interface WorkerActionsProps {
  readonly store: RunStore;
  readonly lane: Lane;
  /** The whole arguments: those of the lane may be cut. */
  readonly args: JsonObject;
}

/** The name of each dialog, and the label of its button. */
const ACTIONS = [["retry", "Retry…"], ["skip", "Skip…"], ["supply", "Supply result…"]] as const;

export function WorkerActions({ store, lane, args }: WorkerActionsProps) {
  const [open, setOpen] = useState<typeof ACTIONS[number][0] | null>(null);
  if (!lane.counts || !may("run")) return null;
  const reasons = unavailable(lane, store);
  const dialog = {
    of: store.of,
    lane,
    onDone: store.update.bind(store),
    onClose: () => setOpen(null),
  };
  return (
    <>
      <div class="buttons">
        {ACTIONS.map(([name, label]) => (
          <Button
            key={name}
            small
            disabled={reasons[name] !== ""}
            title={reasons[name] || undefined}
            onClick={() => setOpen(name)}
          >
            {label}
          </Button>
        ))}
      </div>
      {open === "retry" && <Retry {...dialog} args={args} />}
      {open === "skip" && <Skip {...dialog} />}
      {open === "supply" && <Supply {...dialog} />}
    </>
  );
}

/** Return why each action is not possible now; "" for an action that is. */
function unavailable(lane: Lane, store: RunStore): Record<"retry" | "skip" | "supply", string> {
  if (lane.superseded_by !== undefined) {
    const reason = `Replaced by ${lane.superseded_by}`;
    return { retry: reason, skip: reason, supply: reason };
  }
  const { status } = store.view.run.value;
  const executing = status !== "paused" && !isOver(status) && store.document.value?.owner !== null;
  const inProgress = executing && isRunning(lane)
    ? "In progress. Pause the run first, or wait"
    : "";
  const completed = lane.status === "completed";
  const accepted = completed && lane.verdict?.verdict === "accept";
  return {
    retry: accepted
      ? "The result was accepted. Fork the run to repeat it"
      : isOpen(lane.status)
      ? "Nothing has failed"
      : "",
    skip: completed || lane.status === "dropped" ? "Nothing to skip" : inProgress,
    supply: completed ? "Has a result" : inProgress,
  };
}

interface DialogProps {
  /** Names the run in calls. */
  readonly of: RunStore["of"];
  readonly lane: Lane;
  readonly onDone: RunStore["update"];
  readonly onClose: () => void;
}

function Retry({ of, lane, args, ...dialog }: DialogProps & { args: JsonObject }) {
  const before = JSON.stringify(args, null, 2);
  const text = useText(before);
  const parsed = parseObject(text.value);
  return (
    <ActionDialog
      {...dialog}
      title={`Retry ${lane.label}?`}
      action="Retry"
      perform={async (confirmed) => {
        const changed = text.value !== before && { args: valueOf(parsed) };
        const body = { subtasks: [lane.key], confirmed, ...changed };
        return await post("/api/runs/{run_id}/retry", of, body);
      }}
    >
      <p>
        A new work order repeats it. All results and events are kept. A finished run continues and
        writes a new answer.
      </p>
      <JsonArea label="Arguments (JSON)" error={errorOf(parsed)} rows={8} {...text} />
    </ActionDialog>
  );
}

function Skip({ of, lane, ...dialog }: DialogProps) {
  const reason = useText();
  return (
    <ActionDialog
      {...dialog}
      title={`Skip ${lane.label}?`}
      action="Skip"
      kind="danger"
      perform={() =>
        post("/api/runs/{run_id}/skip", of, {
          subtask: lane.key,
          ...(reason.value && { reason: reason.value }),
        })}
    >
      <p>
        The answer lists it as a gap, with your reason. Work that needs its result does not start.
        All other work is kept.
      </p>
      <TextField label="Reason (shown in the answer)" {...reason} />
    </ActionDialog>
  );
}

function Supply({ of, lane, ...dialog }: DialogProps) {
  const summary = useText();
  const data = useText();
  const parsed = data.value.trim() ? parseJson(data.value) : null;
  return (
    <ActionDialog
      {...dialog}
      title={`Supply the result of ${lane.label}`}
      action="Supply result"
      perform={async () =>
        await post("/api/runs/{run_id}/supply", of, {
          subtask: lane.key,
          summary: summary.value,
          ...(parsed && { raw: valueOf(parsed) }),
        })}
    >
      <p>The log records that you supplied the result. No tool is called.</p>
      <TextArea label="Summary" required rows={3} {...summary} />
      <JsonArea
        label="Data (JSON, optional)"
        error={parsed && errorOf(parsed)}
        rows={3}
        {...data}
      />
    </ActionDialog>
  );
}

function errorOf(parsed: Parsed<unknown>): string {
  return "error" in parsed ? parsed.error : "";
}

/** Return what was typed; throw a Problem that the dialog shows if it cannot be used. */
function valueOf<T>(parsed: Parsed<T>): T {
  if ("error" in parsed) throw new Problem({ status: 422, code: "usage", title: parsed.error });
  return parsed.value;
}
