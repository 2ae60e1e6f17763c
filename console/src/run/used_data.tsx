// The data that a result rests on: what the calls it used returned. The log keeps it with the calls, and nowhere twice.

import { useState } from "preact/hooks";
import { getEvent } from "../api.ts";
import { JsonView } from "../ui/json_view.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Payloads, payloadsIn } from "./event_view.tsx";
import type { Call, Lane } from "./lane.ts";

/** `used` are the ids of the calls, as the result names them. */
export function UsedData(
  { runId, lane, used }: { runId: string; lane: Lane; used: readonly string[] },
) {
  const calls = lane.attempts.flatMap((attempt) => attempt.calls)
    .filter((call) => call.ok && call.returnedSeq !== null && used.includes(call.id));
  return <>{calls.map((call) => <DataOf key={call.seq} runId={runId} call={call} />)}</>;
}

/** Fetched once somebody opens it. */
function DataOf({ runId, call }: { runId: string; call: Call }) {
  const [wanted, setWanted] = useState(false);
  return (
    <details onToggle={(event) => setWanted(wanted || event.currentTarget.open)}>
      <summary class="small">
        What <code>{call.name}</code> returned
      </summary>
      {wanted && <Returned runId={runId} seq={call.returnedSeq!} name={call.name} />}
    </details>
  );
}

function Returned({ runId, seq, name }: { runId: string; seq: number; name: string }) {
  const { value, problem } = useLoaded((giving) => getEvent(runId, seq, giving), {
    key: `${runId}/${seq}`,
  });
  if (problem) return <ProblemNote problem={problem} />;
  if (value === null) return <p class="muted small">Fetching…</p>;
  const { raw } = value as { raw?: unknown };
  if (raw === null || raw === undefined) return <p class="muted small">Words and no data.</p>;
  return payloadsIn(raw).length > 0
    ? <Payloads of={raw} />
    : <JsonView value={raw} label={`what ${name} returned`} />;
}
