// The inspector: one assignment with its attempts, calls, result and actions; or one event.

import { getEvent } from "../api.ts";
import type { JsonObject } from "../json.ts";
import type { EventDocument, ResultData } from "../wire.ts";
import { duration } from "../formats.ts";
import { Markdown } from "../markdown.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { chooseEvent, type Chosen, eventLink, workerLink } from "./chosen.ts";
import { EventView, Payloads, payloadsIn } from "./event_view.tsx";
import { laneMark, OUTCOME_WORDS, STATUS_WORDS } from "./marks.ts";
import { attemptsOf, type Lane, type NumberedAttempt } from "./model.ts";
import type { RunStore } from "./store.ts";
import { UsedData } from "./used_data.tsx";
import { Verbs } from "./verbs.tsx";
import { type Args, type Call, type Failure, millis } from "./view.ts";

interface InspectorProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly chosen: Chosen;
}

export function Inspector({ store, runId, chosen }: InspectorProps) {
  if (chosen.seq !== null) return <EventView store={store} runId={runId} seq={chosen.seq} />;
  if (store.live.byKey.has(chosen.worker)) {
    return <Worker key={chosen.worker} store={store} runId={runId} name={chosen.worker} />;
  }
  if (chosen.worker) return <p class="muted">This run has no assignment {chosen.worker}.</p>;
  return (
    <p class="muted">
      Select a worker, a lane of the timeline or an event to see its details.
    </p>
  );
}

function Worker({ store, runId, name }: { store: RunStore; runId: string; name: string }) {
  const lane = store.live.byKey.get(name)!;
  const { glyph, tone } = laneMark(lane.status);
  const args = argsOf(store, lane);
  const attempts = attemptsOf(lane);
  return (
    <div class="inspector">
      <div class="inspector-head">
        <h2>{lane.label}</h2>
        <p>
          <span class={`status tone-${tone}`}>
            <span aria-hidden="true" class="glyph">{glyph}</span> {STATUS_WORDS[lane.status]}
          </span>
          {lane.note && <span class="muted">{lane.note}</span>}{" "}
          <span class="muted">{lane.key} · {lane.role}{lane.tool && ` · ${lane.tool}`}</span>
        </p>
      </div>
      <Kin store={store} lane={lane} />
      {lane.failure && <FailureNote failure={lane.failure} seq={lane.settled_seq} />}
      {lane.verdict && (
        <p>
          Review: <strong>{lane.verdict.verdict}</strong>
          {lane.verdict.reason && `, ${lane.verdict.reason}`}
        </p>
      )}
      <Verbs store={store} runId={runId} lane={lane} args={args} />
      {Object.keys(args).length > 0 && (
        <>
          <h3>Arguments</h3>
          <JsonView value={args} label="arguments" />
        </>
      )}
      <Result runId={runId} lane={lane} />
      <h3>Attempts</h3>
      {attempts.length === 0 && <p class="muted">Not started.</p>}
      {attempts.toReversed().map((attempt) => (
        <AttemptView
          key={attempt.number}
          attempt={attempt}
          shown={attempt === attempts.at(-1) ? lane.failure : undefined}
        />
      ))}
    </div>
  );
}

/** Return the whole arguments, from the document where it has them; those of the view may be cut. */
function argsOf(store: RunStore, lane: Lane): JsonObject {
  const order = store.document.value?.work_orders.find((each) => each.work_order_id === lane.order);
  const subtask = lane.counts ? order?.subtasks[lane.position] : undefined;
  return (subtask?.args ?? lane.args) as JsonObject;
}

/** The assignments that this one is related to. */
function Kin({ store, lane }: { store: RunStore; lane: Lane }) {
  const rows: [string, readonly string[]][] = [
    ["Needs", lane.needs],
    ["Repeats", lane.repairs ? [lane.repairs] : []],
    ["Replaced by", lane.superseded_by ? [lane.superseded_by] : []],
    ["Parent", lane.parent ? [lane.parent] : []],
    ["Children", store.live.childrenOf(lane.key).map((child) => child.key)],
  ];
  const related = rows.filter(([, keys]) => keys.length > 0);
  if (related.length === 0) return null;
  return (
    <dl class="kin">
      {related.map(([word, keys]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>
            {keys.map((key) => (
              <a key={key} href={workerLink(key)}>
                {key} {store.live.byKey.get(key)?.label}
              </a>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FailureNote({ failure, seq }: { failure: Failure; seq: number | undefined }) {
  return (
    <div class="problem">
      <p>
        <span aria-hidden="true" class="problem-mark">▲</span> <strong>{failure.class}</strong>:
        {" "}
        {failure.message}
      </p>
      {failure.next_action && <p class="problem-how">Next step: {failure.next_action}</p>}
      {seq !== undefined && (
        <p>
          <a href={eventLink(seq)}>Event {seq}</a>
        </p>
      )}
    </div>
  );
}

/** The result: of the attempt that counts, or supplied by a person. */
function Result({ runId, lane }: { runId: string; lane: Lane }) {
  const given = lane.by && lane.status === "completed" ? lane.settled_seq : undefined;
  const last = attemptsOf(lane).findLast((attempt) => attempt.outcome === "ok");
  const seq = given ?? last?.result_seq;
  if (seq === undefined) return null;
  return <ResultOf key={seq} runId={runId} seq={seq} lane={lane} />;
}

/** Return the result that an event brought, and the ids of the calls that it used. */
function resultIn(
  event: EventDocument | null,
): { data: ResultData | null; used: readonly string[] } {
  if (event !== null && "result" in event) return event.result;
  if (event !== null && "data" in event) return { data: event.data, used: [] };
  return { data: null, used: [] };
}

function ResultOf({ runId, seq, lane }: { runId: string; seq: number; lane: Lane }) {
  const { value, problem } = useLoaded((giving) => getEvent(runId, seq, giving), {
    key: `${runId}/${seq}`,
  });
  const { data, used } = resultIn(value);
  // The result of a plan or a review is JSON in a text.
  const thought = lane.role === "plan" || lane.role === "review";
  const structure = thought ? parsed(data?.summary) : undefined;
  return (
    <>
      <h3>
        Result <a class="small" href={eventLink(seq)}>event {seq}</a>
      </h3>
      <ProblemNote problem={problem} />
      {!value && !problem && <p class="muted">Loading…</p>}
      {data?.sample && <p class="small tone-asks">Sample data</p>}
      {structure !== undefined
        ? <JsonView value={structure} label="result" />
        : data?.summary && <Markdown text={data.summary} />}
      {data?.raw != null && payloadsIn(data.raw).length === 0 && (
        <JsonView value={data.raw} label="data" />
      )}
      <Payloads of={data?.raw} />
      <UsedData runId={runId} lane={lane} used={used} />
      {data?.sources && data.sources.length > 0 && (
        <ul class="small">
          {data.sources.map((source) => <li key={source.url}>{source.title}</li>)}
        </ul>
      )}
    </>
  );
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined; // not JSON: shown as text
  }
}

interface AttemptProps {
  readonly attempt: NumberedAttempt;
  /** The failure that is shown above already. */
  readonly shown: Failure | undefined;
}

function AttemptView({ attempt, shown }: AttemptProps) {
  const [start, end] = [millis(attempt.started_at), millis(attempt.ended_at)];
  const took = start !== null && end !== null ? `, ${duration((end - start) / 1000)}` : "";
  const waited = (attempt.outcome === "parked" && attempt.open_calls) || [];
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
      {attempt.failure && attempt.failure.message !== shown?.message && (
        <FailureNote failure={attempt.failure} seq={attempt.result_seq} />
      )}
      {waited.length > 0 && (
        <p class="small">
          Waited for: {waited.map((call) => `${call.kind}${call.tool ? ` ${call.tool}` : ""}`)
            .join(", ")}
        </p>
      )}
      {Object.keys(attempt.calls).length > 0 && (
        <ol class="calls">
          {Object.entries(attempt.calls).map(([seq, call]) => (
            <CallView key={seq} seq={Number(seq)} call={call} over={end !== null} />
          ))}
        </ol>
      )}
      {attempt.result_seq !== undefined && (
        <button
          class="link small"
          type="button"
          onClick={() => chooseEvent(attempt.result_seq!)}
        >
          Result (event {attempt.result_seq})
        </button>
      )}
    </section>
  );
}

function CallView({ seq, call, over }: { seq: number; call: Call; over: boolean }) {
  const open = over ? "dropped" : "running";
  const state = call.ok === undefined ? open : call.ok ? "completed" : "failed";
  const { glyph, tone } = laneMark(state);
  const ended = millis(call.ended_at);
  const took = ended !== null
    ? duration((ended - Date.parse(call.began_at)) / 1000)
    : over
    ? "outcome unknown"
    : "running";
  return (
    <li>
      <span class={`glyph tone-${tone}`} aria-hidden="true">{glyph}</span>
      <span>
        <a href={eventLink(call.returned_seq ?? seq)}>{call.name}</a>{" "}
        <span class="muted small">
          {call.kind === "model" ? modelCall(call) : argsInLine(call.args)} · {took}
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
  return call.tokens ? `model, ${call.tokens.toLocaleString("en")} tokens` : "model";
}

function argsInLine(args: Args | undefined): string {
  const written = JSON.stringify(args ?? {});
  return written.length > 120 ? `${written.slice(0, 119)}…` : written;
}
