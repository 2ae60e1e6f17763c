// Dialogs: the browser's own <dialog>, and the confirmation before a destructive action.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button, useAction } from "./button.tsx";
import { ProblemNote } from "./problem_note.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}

/** Open for as long as it is rendered. Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    return () => opened?.close(); // gives the focus back to where it was
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? "wide" : undefined}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={heading}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export interface ConfirmProps {
  /** The question: "Cancel this run?" */
  readonly title: string;
  /** What the action changes and what it keeps. */
  readonly children: ComponentChildren;
  /** The label of the button: "Cancel run". */
  readonly action: string;
  readonly kind?: "danger" | "primary";
  /** Perform the action; the dialog closes if it succeeds and shows the problem if it fails. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Ask before an action; open for as long as it is rendered. */
export function Confirm(props: ConfirmProps) {
  const doing = useAction(async () => {
    await props.onConfirm();
    props.onClose();
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
        <ProblemNote problem={doing.problem} />
        <div class="buttons">
          <Button type="submit" kind={props.kind ?? "danger"} busy={doing.busy}>
            {props.action}
          </Button>
          <Button onClick={props.onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}
