// The inspector: one worker with its attempts, calls, result and verbs; or one event.

import { getEvent } from "../api.ts";
import type { JsonObject } from "../documents.ts";
import { duration } from "../formats.ts";
import { Markdown } from "../markdown.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { chooseEvent, type Chosen, eventLink, workerLink } from "./chosen.ts";
import type { Args, Failure } from "./entry.ts";
import { EventView, Payloads, payloadsIn } from "./event_view.tsx";
import { type Attempt, type Call, type Lane, STATUS_WORDS } from "./lane.ts";
import { laneMark, OUTCOME_WORDS } from "./marks.ts";
import type { RunStore } from "./store.ts";
import { UsedData } from "./used_data.tsx";
import { Verbs } from "./verbs.tsx";

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
  if (chosen.worker) return <p class="muted">There is no worker {chosen.worker} in this run.</p>;
  return (
    <p class="muted">
      Choose a worker in the fleet or the timeline, or an event in the log, to see it here.
    </p>
  );
}

function Worker({ store, runId, name }: { store: RunStore; runId: string; name: string }) {
  const lane = store.live.byKey.get(name)!;
  const { glyph, tone } = laneMark(lane.status);
  const args = argsOf(store, lane);
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
      {lane.failure && <FailureNote failure={lane.failure} seq={lane.settledSeq} />}
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
          <JsonView value={args} label="the arguments" />
        </>
      )}
      <Result runId={runId} lane={lane} />
      <h3>Attempts</h3>
      {lane.attempts.length === 0 && <p class="muted">It has not been handed out yet.</p>}
      {lane.attempts.toReversed().map((attempt) => (
        <AttemptView
          key={attempt.id}
          attempt={attempt}
          told={attempt === lane.attempts.at(-1) ? lane.failure : null}
        />
      ))}
    </div>
  );
}

/** The arguments whole, from the document; what an event brought may be cut. */
function argsOf(store: RunStore, lane: Lane): JsonObject {
  const order = store.document.value?.work_orders.find((each) => each.work_order_id === lane.order);
  const index = Number(lane.key.slice(lane.order.length + 1));
  const subtask = lane.subtask ? order?.subtasks[index] : undefined;
  return (subtask?.args ?? lane.args) as JsonObject;
}

/** What it needs, repairs, was replaced by, and who has whom do what. */
function Kin({ store, lane }: { store: RunStore; lane: Lane }) {
  const rows: [string, string[]][] = [
    ["Needs", lane.needs],
    ["Does again", lane.repairs ? [lane.repairs] : []],
    ["Done again as", lane.supersededBy ? [lane.supersededBy] : []],
    ["For", lane.parent ? [lane.parent] : []],
    ["Has others do", lane.children.map((child) => child.key)],
  ];
  const told = rows.filter(([, keys]) => keys.length > 0);
  if (told.length === 0) return null;
  return (
    <dl class="kin">
      {told.map(([word, keys]) => (
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

function FailureNote({ failure, seq }: { failure: Failure; seq: number | null }) {
  return (
    <div class="problem">
      <p>
        <span aria-hidden="true" class="problem-mark">▲</span> <strong>{failure.class}</strong>:
        {" "}
        {failure.message}
      </p>
      {failure.next_action && <p class="problem-how">What helps: {failure.next_action}</p>}
      {seq !== null && (
        <p>
          <a href={eventLink(seq)}>Event {seq}</a>
        </p>
      )}
    </div>
  );
}

/** The result in words: of the attempt that counts, or that a person gave. */
function Result({ runId, lane }: { runId: string; lane: Lane }) {
  const given = lane.by !== "" && lane.status === "completed" ? lane.settledSeq : null;
  const last = lane.attempts.findLast((attempt) => attempt.outcome === "ok");
  const seq = given ?? last?.resultSeq ?? null;
  if (seq === null) return null;
  return <ResultOf key={seq} runId={runId} seq={seq} lane={lane} />;
}

interface ResultFields {
  readonly summary?: string;
  readonly raw?: unknown;
  readonly sources?: { title: string; url: string }[];
  readonly sample?: boolean;
}

function ResultOf({ runId, seq, lane }: { runId: string; seq: number; lane: Lane }) {
  const { value, problem } = useLoaded((giving) => getEvent(runId, seq, giving), {
    key: `${runId}/${seq}`,
  });
  const data: ResultFields | undefined = value?.result?.data ?? value?.data;
  // What a plan or a review comes to is a structure: JSON in a text.
  const thought = lane.role === "plan" || lane.role === "review";
  const structure = thought ? parsed(data?.summary) : undefined;
  return (
    <>
      <h3>
        Result <a class="small" href={eventLink(seq)}>event {seq}</a>
      </h3>
      <ProblemNote problem={problem} />
      {!value && !problem && <p class="muted">Fetching…</p>}
      {data?.sample && <p class="small tone-asks">Sample data</p>}
      {structure !== undefined
        ? <JsonView value={structure} label="the result" />
        : data?.summary && <Markdown text={data.summary} />}
      {data?.raw != null && payloadsIn(data.raw).length === 0 && (
        <JsonView value={data.raw} label="the result's data" />
      )}
      <Payloads of={data?.raw} />
      <UsedData runId={runId} lane={lane} used={value?.result?.used ?? []} />
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
    return undefined; // words after all: shown as words
  }
}

interface AttemptProps {
  readonly attempt: Attempt;
  /** The failure that stands above already. */
  readonly told: Failure | null;
}

function AttemptView({ attempt, told }: AttemptProps) {
  const took = attempt.start !== null && attempt.end !== null
    ? `, ${duration((attempt.end - attempt.start) / 1000)}`
    : "";
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
      {attempt.feedback && <p class="small">It was told: {attempt.feedback}</p>}
      {attempt.failure && attempt.failure.message !== told?.message && (
        <FailureNote failure={attempt.failure} seq={attempt.resultSeq} />
      )}
      {attempt.openCalls.length > 0 && attempt.outcome === "parked" && (
        <p class="small">
          It waited for{" "}
          {attempt.openCalls.map((call) => `${call.kind}${call.tool ? ` ${call.tool}` : ""}`)
            .join(", ")}
        </p>
      )}
      {attempt.calls.length > 0 && (
        <ol class="calls">
          {attempt.calls.map((call) => (
            <CallView key={call.seq} call={call} over={attempt.end !== null} />
          ))}
        </ol>
      )}
      {attempt.resultSeq !== null && (
        <button
          class="link small"
          type="button"
          onClick={() => chooseEvent(attempt.resultSeq!)}
        >
          What it returned (event {attempt.resultSeq})
        </button>
      )}
    </section>
  );
}

function CallView({ call, over }: { call: Call; over: boolean }) {
  const open = over ? "dropped" : "running";
  const state = call.ok === null ? open : call.ok ? "completed" : "failed";
  const { glyph, tone } = laneMark(state);
  const took = call.ended !== null
    ? duration((call.ended - call.began) / 1000)
    : over
    ? "its end was not seen"
    : "under way";
  return (
    <li>
      <span class={`glyph tone-${tone}`} aria-hidden="true">{glyph}</span>
      <span>
        <a href={eventLink(call.returnedSeq ?? call.seq)}>{call.name}</a>{" "}
        <span class="muted small">
          {call.kind === "model" ? modelCall(call) : argsInLine(call.args)} · {took}
          {call.effect === "once" && " · cannot be taken back"}
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

function argsInLine(args: Args | null): string {
  const written = JSON.stringify(args ?? {});
  return written.length > 120 ? `${written.slice(0, 119)}…` : written;
}
