// Dialogs: the browser's own <dialog>, and the confirmation before a destructive action.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button, useAction } from "./button.tsx";
import { Form } from "./field.tsx";
import { ProblemNote } from "./problem_note.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Open for as long as it is rendered. Escape and a click beside it close it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    return () => opened?.close(); // returns the focus to where it was
  }, []);
  return (
    <dialog
      ref={dialog}
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

export interface ConfirmProps extends DialogProps {
  /** The label of the button: "Cancel run". */
  readonly action: string;
  readonly kind?: "danger" | "primary";
  /** The label of the button that changes nothing. */
  readonly dismiss?: string;
  /** Perform the action. The dialog shows the problem if it fails, and closes unless it resolves to false. */
  readonly onConfirm: () => Promise<boolean | void>;
}

/** Ask before an action; `children` say what it changes and keeps. Open for as long as it is rendered. */
export function Confirm(
  { title, children, action, kind = "danger", dismiss = "Close", onConfirm, onClose }: ConfirmProps,
) {
  const confirming = useAction(async () => {
    if (await onConfirm() !== false) onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={confirming.run}>
        {children}
        <ProblemNote problem={confirming.problem} />
        <div class="buttons">
          <Button type="submit" kind={kind} busy={confirming.busy}>{action}</Button>
          <Button onClick={onClose}>{dismiss}</Button>
        </div>
      </Form>
    </Dialog>
  );
}
