// Other limits for a run that is continued, retried or forked, and the dialog that continues a run that ran out.

import { useState } from "preact/hooks";
import { resumeRun } from "../../api.ts";
import { count, duration, money } from "../../formats.ts";
import { Problem } from "../../problem.ts";
import { TextField } from "../../ui/field.tsx";
import type { NewLimits, RunDocument } from "../../wire.ts";
import { ActionDialog } from "./action_dialog.tsx";
import { hasLeadTurns, proposedLimits, type TypedLimits, typedLimits } from "./limits.ts";
import { retriableOf } from "../state/model.ts";
import type { RunStore } from "../state/store.ts";

interface LimitFieldsProps {
  readonly run: RunDocument | null;
  readonly typed: TypedLimits;
  readonly onChange: (typed: TypedLimits) => void;
}

/** A field for each limit; the hints say what the run has and what it used. */
export function LimitFields({ run, typed, onChange }: LimitFieldsProps) {
  if (run === null) return null;
  const { limits, usage } = run;
  const tokens = usage.input_tokens + usage.output_tokens;
  const now = (limit: string | null, used = "") =>
    `now ${limit ?? "no limit"}${used && `, ${used} used`}`;
  const field = (name: keyof NewLimits, label: string, hint: string, step = "1") => (
    <TextField
      label={label}
      hint={hint}
      type="number"
      inputMode="decimal"
      min={0}
      step={step}
      placeholder="Keep"
      value={typed[name] ?? ""}
      onInput={(text) => onChange({ ...typed, [name]: text })}
    />
  );
  return (
    <div class="limits-fields">
      {field(
        "budget",
        "Budget (US$)",
        now(limits.budget_usd === null ? null : money(limits.budget_usd), money(usage.cost_usd)),
        "any",
      )}
      {field(
        "timeout",
        "Timeout (seconds)",
        now(limits.timeout_s === null ? null : duration(limits.timeout_s)),
        "any",
      )}
      {field(
        "max_requests",
        "Max. requests",
        now(limits.max_requests?.toLocaleString("en") ?? null, usage.requests.toLocaleString("en")),
      )}
      {field(
        "max_tokens",
        "Max. tokens",
        now(limits.max_tokens?.toLocaleString("en") ?? null, tokens.toLocaleString("en")),
      )}
      {hasLeadTurns(run.flow) && field("max_turns", "Max. turns", "of the lead")}
    </div>
  );
}

export function ContinueDialog({ store, onClose }: { store: RunStore; onClose: () => void }) {
  const run = store.document.value;
  const [typed, setTyped] = useState<TypedLimits>(proposedLimits(run));
  const left = retriableOf(store.live);
  return (
    <ActionDialog
      title="Continue with more"
      action="Continue"
      perform={async () => {
        const limits = typedLimits(typed);
        if (Object.keys(limits).length === 0) {
          throw new Problem({ status: 422, code: "usage", title: "Enter at least one limit." });
        }
        return await resumeRun(store.runId, { limits });
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
