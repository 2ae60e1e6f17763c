// What is rarely done with a run: copy its id, export it, delete it.

import { useState } from "preact/hooks";
import { call, exportPath } from "../../api.ts";
import { go } from "../../router.ts";
import { may } from "../../session.ts";
import { announce } from "../../ui/announce.tsx";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import type { RunStore } from "../state/store.ts";

export function More({ store }: { store: RunStore }) {
  const { runId } = store;
  const [open, setOpen] = useState(false);
  return (
    <details class="menu">
      <summary class="button">More</summary>
      <div class="menu-items panel">
        <p class="small muted">
          <code>{runId}</code> <Copy text={runId} what="run id" />
        </p>
        <a href={exportPath(runId, "html")} download title="A page that works offline">
          Export as HTML
        </a>
        <a href={exportPath(runId, "jsonl")} download title="Events and document, one per line">
          Export as JSONL
        </a>
        {may("run") && <Button small kind="danger" onClick={() => setOpen(true)}>Delete…</Button>}
      </div>
      {open && <Delete runIds={[runId]} onClose={() => setOpen(false)} />}
    </details>
  );
}

/** Ask before runs are deleted; a single one is on the screen, which then shows the list. */
export function Delete(
  { runIds, onDone, onClose }: {
    runIds: readonly string[];
    onDone?: () => void;
    onClose: () => void;
  },
) {
  const many = runIds.length > 1;
  return (
    <Confirm
      title={many ? `Delete ${runIds.length} runs?` : "Delete this run?"}
      action={many ? `Delete ${runIds.length} runs` : "Delete run"}
      onConfirm={async () => {
        for (const run_id of runIds) await call("delete", "/api/runs/{run_id}", { run_id });
        announce(many ? `Deleted ${runIds.length} runs` : "Deleted the run");
        if (onDone) onDone();
        else go("/runs");
      }}
      onClose={onClose}
    >
      <p>
        The events, the answer and the files are deleted for good. What {many ? "they" : "it"}{" "}
        did outside is not undone.
      </p>
    </Confirm>
  );
}
