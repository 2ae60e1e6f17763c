// Other limits for a run that is continued, retried or forked, and the dialog that continues a run that ran out.

import { useState } from "preact/hooks";
import { post } from "../../api.ts";
import { count, duration, money } from "../../formats.ts";
import { Problem } from "../../problem.ts";
import type { Typed } from "../../form/schema.ts";
import { SchemaForm } from "../../form/schema_form.tsx";
import type { RunDocument } from "../../wire.ts";
import { ActionDialog } from "./action_dialog.tsx";
import { newLimitParameters, proposedLimits, typedLimits } from "../../form/limits.ts";
import { retriableOf } from "../state/lanes.ts";
import type { RunStore } from "../state/store.ts";

interface LimitFieldsProps {
  readonly run: RunDocument | null;
  readonly typed: Typed;
  readonly onChange: (typed: Typed) => void;
}

/** A field for each limit; the hints say what the run has and what it used. */
export function LimitFields({ run, typed, onChange }: LimitFieldsProps) {
  if (run === null) return null;
  const { limits, usage } = run;
  const now = (limit: string | undefined, used = "") =>
    `now ${limit ?? "no limit"}${used && `, ${used} used`}`;
  const number = (value: number | null) => value?.toLocaleString("en");
  const hints: { readonly [name: string]: string } = {
    budget: now(
      limits.budget === null ? undefined : money(limits.budget),
      money(usage.cost_usd),
    ),
    timeout: now(limits.timeout === null ? undefined : duration(limits.timeout)),
    max_requests: now(number(limits.max_requests), number(usage.requests)),
    max_tokens: now(number(limits.max_tokens), number(usage.input_tokens + usage.output_tokens)),
  };
  return (
    <div class="limits-fields">
      <SchemaForm
        parameters={newLimitParameters}
        typed={typed}
        onInput={onChange}
        errorOf={() => null}
        hintOf={({ name, description }) => hints[name] ?? description}
        empty="Keep"
      />
    </div>
  );
}

export function ContinueDialog({ store, onClose }: { store: RunStore; onClose: () => void }) {
  const run = store.document.value;
  const [typed, setTyped] = useState<Typed>(proposedLimits(run));
  const left = retriableOf(store.view.steps.value);
  return (
    <ActionDialog
      title="Continue with more"
      action="Continue"
      perform={async () => {
        const limits = typedLimits(typed);
        if (Object.keys(limits).length === 0) {
          throw new Problem({ status: 422, code: "usage", title: "Enter at least one limit." });
        }
        return await post("/api/runs/{run_id}/resume", store.of, { limits });
      }}
      onDone={store.update.bind(store)}
      onClose={onClose}
    >
      <p>
        Limits are for the run as a whole, including what it has used. The run continues
        {left > 0 && ` with ${count(left, "subtask")} that did not finish`}{" "}
        and writes a new answer. All results and events are kept.
      </p>
      <LimitFields run={run} typed={typed} onChange={setTyped} />
    </ActionDialog>
  );
}
