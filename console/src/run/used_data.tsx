// The data that a result is based on: what its calls returned, as the log keeps it.

import { useState } from "preact/hooks";
import { JsonView } from "../ui/json_view.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Payloads, payloadsIn, useEvent } from "./event_view.tsx";
import type { Lane } from "./model.ts";
import type { Call } from "./view.ts";

/** `used` are the ids of calls in the result. */
export function UsedData(
  { runId, lane, used }: { runId: string; lane: Lane; used: readonly string[] },
) {
  const calls = Object.values(lane.attempts)
    .flatMap((attempt) => Object.values(attempt.calls))
    .filter((call) => call.ok && call.returned_seq !== undefined && used.includes(call.id));
  return <>{calls.map((call) => <DataOf key={call.returned_seq} runId={runId} call={call} />)}</>;
}

/** The data of one call, fetched when it is opened. */
function DataOf({ runId, call }: { runId: string; call: Call }) {
  const [opened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => setOpened(opened || event.currentTarget.open)}>
      <summary class="small">
        Data from <code>{call.name}</code>
      </summary>
      {opened && <Returned runId={runId} seq={call.returned_seq!} name={call.name} />}
    </details>
  );
}

function Returned({ runId, seq, name }: { runId: string; seq: number; name: string }) {
  const { value, problem } = useEvent(runId, seq);
  if (problem) return <ProblemNote problem={problem} />;
  if (value === null) return <p class="muted small">Loading…</p>;
  const { raw } = value as { raw?: unknown };
  if (raw === null || raw === undefined) return <p class="muted small">No data, only text.</p>;
  return payloadsIn(raw).length > 0
    ? <Payloads of={raw} runId={runId} seq={seq} />
    : <JsonView value={raw} label={`what ${name} returned`} />;
}
