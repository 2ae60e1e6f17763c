// The inspector: one step with its attempts, calls, result and actions; or one event.

import type { JsonObject } from "../../json.ts";
import type { EventDocument, ResultData } from "../../wire.ts";
import { duration, money, shortened } from "../../formats.ts";
import { Markdown } from "../../markdown.tsx";
import { Fact } from "../../ui/fact.tsx";
import { JsonView } from "../../ui/json_view.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { SourceList } from "../../ui/outer_link.tsx";
import { ProblemBox, ProblemNote } from "../../ui/problem_note.tsx";
import { StatusGlyph, StatusMark } from "../../ui/status.tsx";
import { EventView, Payloads, payloadsIn, useEvent } from "../log/event_view.tsx";
import { FailureBadge } from "../answer/answer.tsx";
import { attemptsOf, type Lane, type NumberedAttempt } from "../state/lanes.ts";
import { callLink, eventLink, type Selection, workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { type Args, type Call, type Failure, millis } from "../state/view.ts";
import { isCancelled, OUTCOME_WORDS, shownStatus, STATUS_WORDS } from "../words.ts";
import { WorkerActions } from "../actions/worker_actions.tsx";

const ModelCall = lazy("ModelCall");

/** Characters of the arguments of a call, as JSON in one line. */
const MAX_ARGS = 120;

interface InspectorProps {
  readonly store: RunStore;
  readonly selection: Selection;
}

export function Inspector({ store, selection }: InspectorProps) {
  const { seq, worker, call } = selection;
  if (seq !== null) return <EventView store={store} seq={seq} />;
  if (call) return <ModelCall runId={store.runId} call={call} />;
  const lane = store.view.step(worker);
  if (lane) return <Worker key={worker} store={store} lane={lane} />;
  if (worker) return <p class="muted">This run has no step {worker}.</p>;
  return (
    <p class="muted">
      Select a worker, a lane of the timeline or an event to see its details.
    </p>
  );
}

function Worker({ store, lane }: { store: RunStore; lane: Lane }) {
  const args = argsOf(store, lane);
  const attempts = attemptsOf(lane);
  const status = shownStatus(lane);
  return (
    <div class="inspector">
      <div class="inspector-head">
        <h2 dir="auto">{lane.label}</h2>
        <p>
          <StatusMark status={status} word={STATUS_WORDS[status]} />
          {lane.note && <span class="muted">{lane.note}</span>}{" "}
          <span class="muted">{lane.key} · {lane.worker}{lane.tool && ` · ${lane.tool}`}</span>
        </p>
      </div>
      <Related store={store} lane={lane} />
      {lane.failure && !isCancelled(lane.failure) && (
        <FailureNote failure={lane.failure} seq={lane.settled_seq} />
      )}
      {lane.verdict && (
        <p>
          Review: <strong>{lane.verdict.verdict}</strong>
          {lane.verdict.reason && `, ${lane.verdict.reason}`}
        </p>
      )}
      <WorkerActions store={store} lane={lane} args={args} />
      {Object.keys(args).length > 0 && (
        <>
          <h3>Arguments</h3>
          <JsonView value={args} label="arguments" />
        </>
      )}
      <Result runId={store.runId} lane={lane} />
      <h3>Attempts</h3>
      {attempts.length === 0 && <p class="muted">Not started.</p>}
      {attempts.toReversed().map((attempt) => (
        <AttemptView
          key={attempt.number}
          attempt={attempt}
          args={lane.args}
          shownFailure={attempt === attempts.at(-1) ? lane.failure : undefined}
        />
      ))}
    </div>
  );
}

/** Return the whole arguments, from the document where it has them; those of the view may be cut. */
function argsOf(store: RunStore, lane: Lane): JsonObject {
  const order = store.document.value?.work_orders?.find((each) =>
    each.work_order_id === lane.order
  );
  const subtask = lane.counts ? order?.subtasks[lane.position] : undefined;
  return (subtask?.args ?? lane.args) as JsonObject;
}

function Related({ store, lane }: { store: RunStore; lane: Lane }) {
  const rows: [string, readonly string[]][] = [
    ["Needs", lane.needs],
    ["Repeats", lane.repairs ? [lane.repairs] : []],
    ["Replaced by", lane.superseded_by ? [lane.superseded_by] : []],
    ["Parent", lane.parent ? [lane.parent] : []],
    [
      "Children",
      store.view.steps.value.filter(({ parent }) => parent === lane.key).map(({ key }) => key),
    ],
  ];
  const related = rows.filter(([, keys]) => keys.length > 0);
  if (related.length === 0) return null;
  return (
    <dl class="facts small">
      {related.map(([name, keys]) => (
        <Fact key={name} name={name}>
          {keys.map((key) => (
            <div key={key}>
              <a href={workerLink(key)}>{key} {store.view.step(key)?.label}</a>
            </div>
          ))}
        </Fact>
      ))}
    </dl>
  );
}

function FailureNote({ failure, seq }: { failure: Failure; seq: number | undefined }) {
  return (
    <ProblemBox
      what={
        <>
          <FailureBadge name={failure.class} /> {failure.message}{" "}
          {seq !== undefined && <a href={eventLink(seq)}>Event {seq}</a>}
        </>
      }
      how={failure.next_action && `Next step: ${failure.next_action}`}
    />
  );
}

/** The result of the last attempt that returned one, or the result that a person supplied. */
function Result({ runId, lane }: { runId: string; lane: Lane }) {
  const supplied = lane.by && lane.status === "completed" ? lane.settled_seq : undefined;
  const last = attemptsOf(lane).findLast((attempt) => attempt.outcome === "ok");
  const seq = supplied ?? last?.result_seq;
  if (seq === undefined) return null;
  return <ResultOf key={seq} runId={runId} seq={seq} />;
}

/** Return the result in an event. */
function resultIn(event: EventDocument | null): ResultData | null {
  return event !== null && "data" in event ? event.data ?? null : null;
}

function ResultOf({ runId, seq }: { runId: string; seq: number }) {
  const { value, problem } = useEvent(runId, seq);
  const data = resultIn(value);
  return (
    <>
      <h3>
        Result <a class="small" href={eventLink(seq)}>event {seq}</a>
      </h3>
      <ProblemNote problem={problem} />
      {!value && !problem && <p class="muted">Loading…</p>}
      {data?.sample && <p class="small tone-asks">Sample data</p>}
      {data?.summary && <Markdown text={data.summary} />}
      {data?.raw != null && payloadsIn(data.raw).length === 0 && (
        <JsonView value={data.raw} label="data" />
      )}
      <Payloads of={data?.raw} runId={runId} seq={seq} />
      {data && <SourceList sources={data.sources} />}
    </>
  );
}

interface AttemptProps {
  readonly attempt: NumberedAttempt;
  /** The arguments of the step. */
  readonly args: Args;
  /** The failure that is shown above already. */
  readonly shownFailure: Failure | undefined;
}

function AttemptView({ attempt, args, shownFailure }: AttemptProps) {
  const [start, end] = [millis(attempt.started_at), millis(attempt.ended_at)];
  const took = start !== null && end !== null ? `, ${duration((end - start) / 1000)}` : "";
  return (
    <section class="attempt">
      <h4>
        Attempt {attempt.number}
        <span class="muted">
          {OUTCOME_WORDS[attempt.outcome]}
          {took}
          {attempt.host && ` on ${attempt.host}`}
          {attempt.continues && `, continues ${attempt.continues}`}
        </span>
      </h4>
      {attempt.feedback && <p class="small">Feedback: {attempt.feedback}</p>}
      {attempt.failure && attempt.failure.message !== shownFailure?.message && (
        <FailureNote failure={attempt.failure} seq={attempt.result_seq} />
      )}
      {Object.keys(attempt.calls).length > 0 && (
        <ol class="list calls">
          {Object.entries(attempt.calls).map(([seq, call]) => (
            <CallView
              key={seq}
              seq={Number(seq)}
              call={call}
              args={call.args ?? args}
              over={end !== null}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

interface CallProps {
  readonly seq: number;
  readonly call: Call;
  readonly args: Args;
  /** The attempt has ended. */
  readonly over: boolean;
}

function CallView({ seq, call, args, over }: CallProps) {
  const unfinished = over ? "dropped" : "running";
  const status = call.ok === undefined ? unfinished : call.ok ? "completed" : "failed";
  const ended = millis(call.ended_at);
  const took = ended !== null
    ? duration((ended - Date.parse(call.began_at)) / 1000)
    : over
    ? "outcome unknown"
    : "running";
  return (
    <li>
      <StatusGlyph status={status} />
      <span>
        <a href={call.kind === "model" ? callLink(seq) : eventLink(call.returned_seq ?? seq)}>
          {call.name}
        </a>{" "}
        <span class="muted small">
          {call.kind === "model" ? modelCall(call) : shortened(JSON.stringify(args), MAX_ARGS)} ·
          {" "}
          {call.cached ? "cached" : took}
          {call.effect === "once" && " · irreversible"}
        </span>
        {call.failure
          ? <span class="small tone-bad">{call.failure.message}</span>
          : call.summary && <span class="small call-summary">{call.summary}</span>}
      </span>
    </li>
  );
}

function modelCall(call: Call): string {
  const { tokens, output_tokens: output = 0, nanousd } = call;
  if (!tokens) return "model";
  const words = `${(tokens - output).toLocaleString("en")} in · ${output.toLocaleString("en")} out`;
  return nanousd === undefined ? words : `${words} · ${money(nanousd / 1e9)}`;
}
