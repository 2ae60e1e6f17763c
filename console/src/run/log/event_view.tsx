// One event, whole; payloads that it references by digest are fetched on request.

import { useEffect } from "preact/hooks";
import { get } from "../../api.ts";
import { bytes, moment } from "../../formats.ts";
import { Fold } from "../../ui/fold.tsx";
import { JsonView } from "../../ui/json_view.tsx";
import { useLoaded } from "../../ui/loading.ts";
import { ProblemNote } from "../../ui/problem_note.tsx";
import { callLink, workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";

interface EventViewProps {
  readonly store: RunStore;
  readonly seq: number;
}

export function EventView({ store, seq }: EventViewProps) {
  const event = store.log.get(seq);
  const lane = event && store.view.step(event.words.subject);
  useEffect(() => store.loadEvents(seq - 1, seq + 1), [store, seq]);
  return (
    <div class="inspector">
      <div class="inspector-head">
        <h2>
          Event {seq}
          {event && <span class="muted">{event.words.title}</span>}
        </h2>
      </div>
      {lane && (
        <p>
          Subject: <a href={workerLink(lane.key)}>{lane.label}</a> ({lane.key})
        </p>
      )}
      <WholeEvent runId={store.runId} seq={seq} />
    </div>
  );
}

/** Load one event of a run, whole. */
export function useEvent(runId: string, seq: number) {
  return useLoaded(
    (options) => get("/api/runs/{run_id}/events/{seq}", { run_id: runId, seq }, options),
    { key: `${runId}/${seq}` },
  );
}

function WholeEvent({ runId, seq }: { runId: string; seq: number }) {
  const { value, problem } = useEvent(runId, seq);
  if (problem) return <ProblemNote problem={problem} />;
  if (value === null) return <p class="muted">Loading event {seq}…</p>;
  return (
    <>
      <p class="muted small">
        {moment(value.at)}
        {(value.type === "model_call_began" || value.type === "model_call_returned") && (
          <>
            {" · "}
            <a href={callLink(value.type === "model_call_began" ? value.seq : value.call_id)}>
              Prompt and reply
            </a>
          </>
        )}
      </p>
      <JsonView value={value} label={`event ${seq}`} />
      <Payloads of={value} runId={runId} seq={seq} />
    </>
  );
}

interface PayloadRef {
  readonly digest: string;
  readonly size: number;
}

/** Return the payloads that a value references by digest. */
export function payloadsIn(value: unknown): PayloadRef[] {
  const found = new Map<string, PayloadRef>();
  const search = (each: unknown): void => {
    if (typeof each !== "object" || each === null) return;
    const { $blob, bytes } = each as { $blob?: unknown; bytes?: unknown };
    if (typeof $blob === "string") {
      found.set($blob, { digest: $blob, size: typeof bytes === "number" ? bytes : 0 });
    } else Object.values(each).forEach(search);
  };
  search(value);
  return [...found.values()];
}

interface InEvent {
  readonly runId: string;
  readonly seq: number;
}

/** The payloads that a value in an event references by digest: each is fetched when it is opened. */
export function Payloads({ of, ...event }: InEvent & { of: unknown }) {
  return (
    <>
      {payloadsIn(of).map((each) => <Payload key={each.digest} {...each} {...event} />)}
    </>
  );
}

function Payload({ digest, size, ...event }: InEvent & PayloadRef) {
  const label = `Payload ${digest.replace(/^\w+:/, "").slice(0, 12)}${
    size ? `, ${bytes(size)}` : ""
  }`;
  return (
    <Fold summary={label}>
      <LoadedPayload digest={digest} label={label} {...event} />
    </Fold>
  );
}

function LoadedPayload(
  { digest, label, runId, seq }: InEvent & { digest: string; label: string },
) {
  const { value, problem } = useLoaded(
    (options) => {
      const parameters = { run_id: runId, seq, digest };
      return get("/api/runs/{run_id}/events/{seq}/payloads/{digest}", parameters, options);
    },
    { key: `${runId}/${seq}/${digest}` },
  );
  if (problem) return <ProblemNote problem={problem} />;
  if (value === null) return <p class="muted">Loading…</p>;
  return <JsonView value={value} label={label} />;
}
