// The dialog before an action: what it changes and keeps. It asks again if something might happen twice.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../json.ts";
import type { RunDocument } from "../wire.ts";
import { asProblem, Problem } from "../problem.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { labelOf } from "./labels.ts";
import type { Args } from "./view.ts";

interface VerbDialogProps {
  readonly title: string;
  /** What the action changes and keeps; its fields. */
  readonly children: ComponentChildren;
  readonly action: string;
  readonly kind?: "danger" | "primary";
  /** Perform the action; `confirmed` once the person has seen what is irreversible. */
  readonly perform: (confirmed: boolean) => Promise<RunDocument>;
  readonly onDone: (document: RunDocument) => void;
  readonly onClose: () => void;
}

export function VerbDialog(props: VerbDialogProps) {
  const [doubt, setDoubt] = useState<Problem | null>(null);
  const doing = useAction(async () => {
    try {
      props.onDone(await props.perform(doubt !== null));
      props.onClose();
    } catch (error) {
      const problem = asProblem(error);
      if (doubt !== null || !isUnconfirmed(problem)) throw error;
      setDoubt(problem);
    }
  });
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          doing.run();
        }}
      >
        {props.children}
        {doubt && <Doubt problem={doubt} />}
        <ProblemNote problem={doing.problem} />
        <div class="buttons">
          <Button type="submit" kind={doubt ? "danger" : props.kind ?? "primary"} busy={doing.busy}>
            {doubt ? `${props.action} anyway` : props.action}
          </Button>
          <Button onClick={props.onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Return whether the service asks for a confirmation because something might happen twice. */
export function isUnconfirmed(problem: Problem): boolean {
  return problem.status === 409 &&
    (problem.code === "unconfirmed" || Array.isArray(problem.document.done));
}

function Doubt({ problem }: { problem: Problem }) {
  const done = Array.isArray(problem.document.done) ? problem.document.done : [];
  return (
    <div class="problem" role="alert">
      <p>
        <span aria-hidden="true" class="problem-mark">▲</span> {problem.what}
      </p>
      {done.length > 0 && (
        <>
          <p>These irreversible calls were made, or may have been:</p>
          <ul>
            {done.map((each, index) => <li key={index}>{callOf(each)}</li>)}
          </ul>
        </>
      )}
      <p class="problem-how">Confirm to risk making them again.</p>
    </div>
  );
}

/** Return a call in words: its tool, its arguments, and its event or subtask. */
export function callOf(done: Json): string {
  if (typeof done !== "object" || done === null || Array.isArray(done)) return String(done);
  const call = labelOf(String(done.tool ?? "a call"), done.args as Args | undefined);
  if (typeof done.seq === "number") return `${call} (event ${done.seq})`;
  return typeof done.subtask === "string" ? `${call} (${done.subtask})` : call;
}
