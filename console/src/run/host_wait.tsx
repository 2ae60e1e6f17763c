// Why a run waits for a host: asked for only while nothing of it runs.

import { getRun } from "../api.ts";
import { useLoaded } from "../ui/loading.ts";

const EVERY_MS = 3_000;

export function HostWait({ runId }: { runId: string }) {
  const { value } = useLoaded(() => getRun(runId), { key: runId, everyMs: EVERY_MS });
  if (!value?.waits_for) return null;
  const place = value.queue_position;
  return (
    <p class="panel host-wait" role="status">
      {place !== null && <strong>Position {place.toLocaleString("en")} in the queue.</strong>}{" "}
      {value.waits_for.charAt(0).toUpperCase() + value.waits_for.slice(1)}
    </p>
  );
}
