// What can be done with the runs that are selected in the list.

import { useState } from "preact/hooks";
import { post } from "../api.ts";
import { count } from "../formats.ts";
import { Delete } from "../run/actions/more.tsx";
import { isOver } from "../run/state/view.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import type { RunLine } from "../wire.ts";

interface BulkProps {
  readonly chosen: readonly RunLine[];
  /** Called when nothing is to be selected anymore. */
  readonly onClear: () => void;
  /** Called once something was done. */
  readonly onDone: () => void;
}

export function Bulk({ chosen, onClear, onDone }: BulkProps) {
  const [open, setOpen] = useState<"cancel" | "retry" | "delete" | null>(null);
  if (chosen.length === 0) return null;
  const active = chosen.filter(({ status }) => !isOver(status));
  const failed = chosen.filter((line) => line.failed > 0);
  const over = chosen.filter(({ status }) => isOver(status));
  const lines = { cancel: active, retry: failed };
  const close = () => setOpen(null);
  const done = () => {
    onClear();
    onDone();
  };
  return (
    <div class="bulk" role="group" aria-label="Selected runs">
      <strong>{chosen.length} selected</strong>
      {may("run") && (
        <>
          {active.length > 0 && (
            <Button small onClick={() => setOpen("cancel")}>Cancel ({active.length})…</Button>
          )}
          {failed.length > 0 && (
            <Button small onClick={() => setOpen("retry")}>Retry failed ({failed.length})…</Button>
          )}
          {over.length > 0 && (
            <Button small kind="danger" onClick={() => setOpen("delete")}>
              Delete ({over.length})…
            </Button>
          )}
        </>
      )}
      <Button small kind="quiet" onClick={onClear}>Clear</Button>
      {open === "delete" && (
        <Delete runIds={over.map((line) => line.run_id)} onDone={done} onClose={close} />
      )}
      {(open === "cancel" || open === "retry") && (
        <Confirm
          title={`${WORDS[open].action} ${count(lines[open].length, "run")}?`}
          action={WORDS[open].action}
          kind={open === "cancel" ? "danger" : "primary"}
          onConfirm={async () => {
            for (const { run_id } of lines[open]) {
              await post(`/api/runs/{run_id}/${open}`, { run_id }, {});
            }
            announce(`${WORDS[open].done} ${count(lines[open].length, "run")}`);
            done();
          }}
          onClose={close}
        >
          <p>{WORDS[open].effect}</p>
        </Confirm>
      )}
    </div>
  );
}

const WORDS = {
  cancel: {
    action: "Cancel",
    done: "Cancelled",
    effect: "Work in progress stops. Finished work is kept.",
  },
  retry: {
    action: "Retry",
    done: "Retrying",
    effect: "What failed is repeated. All results are kept, and each run writes a new answer.",
  },
};
