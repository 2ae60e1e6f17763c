// The dialog before a verb: what it does and keeps; asked again where something may be done twice.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Json, RunDocument } from "../documents.ts";
import { asProblem, Problem } from "../problem.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import type { Args } from "./entry.ts";
import { labelOf } from "./lane.ts";
import { ProblemNote } from "../ui/problem_note.tsx";

interface VerbDialogProps {
  readonly title: string;
  /** What happens and what is kept; fields too. */
  readonly children: ComponentChildren;
  readonly action: string;
  readonly kind?: "danger" | "primary";
  /** Does it; `confirmed` once the person has seen what cannot be taken back. */
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
            {doubt ? `${props.action} all the same` : props.action}
          </Button>
          <Button onClick={props.onClose}>Do nothing</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Whether the service wants to hear that something may be done twice. */
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
          <p>This was done, or may have been, and cannot be taken back:</p>
          <ul>
            {done.map((each, index) => <li key={index}>{callOf(each)}</li>)}
          </ul>
        </>
      )}
      <p class="problem-how">It may happen a second time.</p>
    </div>
  );
}

/** A call that was made, in words: with its arguments and its event, or the subtask that it is of. */
export function callOf(done: Json): string {
  if (typeof done !== "object" || done === null || Array.isArray(done)) return String(done);
  const call = labelOf(String(done.tool ?? "a call"), done.args as Args | undefined);
  if (typeof done.seq === "number") return `${call} (event ${done.seq})`;
  return typeof done.subtask === "string" ? `${call} (${done.subtask})` : call;
}
