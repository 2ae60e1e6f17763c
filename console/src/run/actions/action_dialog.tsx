// The dialog before an action: what it changes and keeps. It asks again if something might happen twice.

import { useState } from "preact/hooks";
import { isObject, type Json } from "../../json.ts";
import { asProblem, Problem } from "../../problem.ts";
import { Confirm, type ConfirmProps } from "../../ui/dialog.tsx";
import { ProblemBox } from "../../ui/problem_note.tsx";
import type { RunDocument } from "../../wire.ts";
import { labelOf } from "../state/labels.ts";

interface ActionDialogProps extends Omit<ConfirmProps, "onConfirm"> {
  /** Perform the action; `confirmed` once the person has seen what is irreversible. */
  readonly perform: (confirmed: boolean) => Promise<RunDocument>;
  readonly onDone: (document: RunDocument) => void;
}

export function ActionDialog(
  { perform, onDone, action, kind = "primary", children, ...dialog }: ActionDialogProps,
) {
  const [doubt, setDoubt] = useState<Problem | null>(null);
  async function confirm(): Promise<boolean> {
    try {
      onDone(await perform(doubt !== null));
      return true;
    } catch (error) {
      const problem = asProblem(error);
      if (doubt !== null || !isUnconfirmed(problem)) throw error;
      setDoubt(problem);
      return false;
    }
  }
  return (
    <Confirm
      {...dialog}
      action={doubt ? `${action} anyway` : action}
      kind={doubt ? "danger" : kind}
      onConfirm={confirm}
    >
      {children}
      {doubt && <Doubt problem={doubt} />}
    </Confirm>
  );
}

/** Return whether the service asks for a confirmation because something might happen twice. */
export function isUnconfirmed(problem: Problem): boolean {
  return problem.status === 409 &&
    (problem.code === "unconfirmed" || Array.isArray(problem.document.done));
}

function Doubt({ problem }: { problem: Problem }) {
  const calls = Array.isArray(problem.document.done) ? problem.document.done : [];
  return (
    <ProblemBox alert what={problem.what} how="Confirm to risk making them again.">
      {calls.length > 0 && (
        <>
          <p>These irreversible calls were made, or may have been:</p>
          <ul>
            {calls.map((call, index) => <li key={index}>{describeCall(call)}</li>)}
          </ul>
        </>
      )}
    </ProblemBox>
  );
}

/** Return a call as its tool, its arguments, and its event or subtask. */
export function describeCall(call: Json): string {
  if (!isObject(call)) return String(call);
  const label = labelOf(String(call.tool ?? "a call"), isObject(call.args) ? call.args : {});
  if (typeof call.seq === "number") return `${label} (event ${call.seq})`;
  return typeof call.subtask === "string" ? `${label} (${call.subtask})` : label;
}
