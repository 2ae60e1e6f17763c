// The form under the answer of a run that is over: it starts a run that follows it up.

import { post } from "../../api.ts";
import { go } from "../../router.ts";
import { forgetKey, idempotencyKey } from "../../runs/draft.ts";
import { saved } from "../../saved.ts";
import { may } from "../../session.ts";
import { Button, useAction } from "../../ui/button.tsx";
import { Form, TextArea } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem_note.tsx";
import type { RunStore } from "../state/store.ts";
import { isOver } from "../state/view.ts";

/** What is typed, and for which run: it outlives the tab. */
const draft = saved("follow_up", { runId: "", request: "" });

export function FollowUp({ store }: { store: RunStore }) {
  const { runId } = store;
  const request = draft.value.runId === runId ? draft.value.request : "";
  const starting = useAction(async () => {
    if (request.trim() === "") return;
    const body = { request: request.trim() };
    const started = await post("/api/runs/{run_id}/follow-up", store.of, body, {
      idempotencyKey: idempotencyKey({ runId, ...body }),
    });
    forgetKey();
    draft.value = { runId: "", request: "" };
    go(`/runs/${encodeURIComponent(started.run_id)}`);
  });
  // Not before the answer above it, which would move it.
  if (!isOver(store.status.value) || store.document.value === null || !may("run")) return null;
  return (
    <Form
      class="follow-up"
      aria-label="Follow up this run"
      onSubmit={starting.run}
    >
      <TextArea
        label="Follow-up"
        hint="Starts a new run that knows this request, its answer and its sources."
        rows={2}
        required
        value={request}
        error={starting.problem?.errorAt("request")}
        onInput={(request) => draft.value = { runId, request }}
      />
      <Button type="submit" busy={starting.busy} title="Ctrl+Enter">Start follow-up</Button>
      <ProblemNote problem={starting.problem} />
    </Form>
  );
}
