// The head of the run screen: what was asked, how it stands, what it cost so far, and the verbs.

import { exportPath } from "../api.ts";
import { now } from "../clock.ts";
import { count, duration, money } from "../formats.ts";
import { StatusMark } from "../ui/status.tsx";
import { eventLink } from "./chosen.ts";
import type { RunDocument } from "../documents.ts";
import type { Failure } from "./entry.ts";
import { isOver, type RunStore } from "./store.ts";
import { RunVerbs } from "./run_verbs.tsx";

const NANO = 1e9;

export function Head({ store, runId }: { store: RunStore; runId: string }) {
  const model = store.live;
  const document = store.document.value;
  const status = statusOf(store);
  return (
    <header class="run-head">
      <div class="run-title">
        <h1>{document?.request ?? model.request}</h1>
        <p class="run-state">
          <StatusMark status={status} />
          {model.reason && !isOver(status) && <span class="muted">{model.reason}</span>}
          <span class="muted">
            {document?.flow ?? model.flow} · {document?.model ?? model.model} ·{" "}
            <code class="run-id">{runId}</code>
          </span>
          <ForkedFrom document={document} />
          <Export runId={runId} />
        </p>
      </div>
      <RunVerbs store={store} runId={runId} status={status} />
      <Figures store={store} status={status} />
      <Banner store={store} status={status} />
    </header>
  );
}

/** The log is newer than the document as soon as its end is in the model. */
export function statusOf(store: RunStore): string {
  const document = store.document.value;
  return store.caughtUp && store.live.seq > 0
    ? store.live.status
    : document?.status ?? store.live.status;
}

function ForkedFrom({ document }: { document: RunDocument | null }) {
  const forked = (document as { forked_from?: unknown } | null)?.forked_from;
  const from = typeof forked === "string" ? forked : (forked as { run_id?: string } | null)?.run_id;
  if (!from) return null;
  return (
    <span class="muted">
      · forked from <a href={`/runs/${encodeURIComponent(from)}`}>{from}</a>
    </span>
  );
}

function Export({ runId }: { runId: string }) {
  return (
    <span class="muted">
      Export:{" "}
      <a href={exportPath(runId, "jsonl")} download title="Its events and its document, as lines">
        JSONL
      </a>{" "}
      · <a href={exportPath(runId, "html")} download title="A page that needs nothing else">HTML</a>
    </span>
  );
}

function Figures({ store, status }: { store: RunStore; status: string }) {
  const model = store.live;
  const { spend, counts } = model;
  return (
    <div class="figures">
      <Figure word="Workers">
        <strong>{model.done.toLocaleString("en")}</strong> of {model.total.toLocaleString("en")}
        {" "}
        done
        {counts.running > 0 && <span class="tone-busy">, {counts.running} running</span>}
        {counts.retrying > 0 && <span class="tone-asks">, {counts.retrying} retrying</span>}
        {counts.waiting > 0 && <span class="tone-asks">, {counts.waiting} waiting</span>}
        {model.failed > 0 && <span class="tone-bad">, {model.failed} failed</span>}
        {model.leftOut > 0 && <span>, {model.leftOut} left out</span>}
      </Figure>
      <Figure word="Time">
        <Elapsed store={store} status={status} />
      </Figure>
      <Figure word="Spent">
        <Spent store={store} />
      </Figure>
      <Figure word="Used">
        {count(spend.requests, "request")}, {count(spend.tokens, "token")}
      </Figure>
    </div>
  );
}

function Figure({ word, children }: { word: string; children: preact.ComponentChildren }) {
  return (
    <div class="figure">
      <span class="muted small">{word}</span>
      <div>{children}</div>
    </div>
  );
}

function Elapsed({ store, status }: { store: RunStore; status: string }) {
  const model = store.live;
  const document = store.document.value;
  const from = model.startedAt ?? Date.parse(document?.created_at ?? "");
  if (Number.isNaN(from)) return <>–</>;
  // The clock is read only while it matters: a screen of a finished run is not drawn each second.
  const end = document?.finished_at ? Date.parse(document.finished_at) : model.lastAt ?? from;
  const to = isOver(status) ? model.finishedAt ?? end : Math.max(now.value, model.lastAt ?? from);
  return <>{duration((to - from) / 1000)}</>;
}

function Spent({ store }: { store: RunStore }) {
  const { spend } = store.live;
  const spent = spend.nanousd / NANO;
  const told = `${spend.unpriced ? "at least " : ""}${money(spent)}`;
  if (spend.budget === null) return <>{told}, no limit</>;
  const budget = spend.budget / NANO;
  const part = (nano: number) =>
    `${Math.min(100, spend.budget ? nano / spend.budget * 100 : 0).toFixed(2)}%`;
  return (
    <>
      <span>{told} of {money(budget)}</span>
      {spend.held > 0 && <span class="muted small">{money(spend.held / NANO)} set aside</span>}
      <div
        class="meter"
        role="meter"
        aria-label="Spent of the budget"
        aria-valuemin={0}
        aria-valuemax={budget}
        aria-valuenow={Math.min(spent, budget)}
        aria-valuetext={`${told} of ${money(budget)}`}
      >
        <i class="meter-spent" style={{ width: part(spend.nanousd) }} />
        <i class="meter-held" style={{ width: part(spend.held) }} />
      </div>
    </>
  );
}

function Banner({ store, status }: { store: RunStore; status: string }) {
  const model = store.live;
  const document = store.document.value;
  const failure = document?.failure as unknown as Failure | null | undefined;
  const finish = model.finishes.at(-1);
  if (status === "failed") {
    const event = model.firstProblem ?? finish?.seq ?? null;
    return (
      <div class="problem" role="alert">
        <p>
          <span aria-hidden="true" class="problem-mark">▲</span>{" "}
          {failure ? `${failure.message} (${failure.class})` : model.reason || "The run failed."}
        </p>
        {failure?.next_action && <p class="problem-how">What helps: {failure.next_action}</p>}
        {event !== null && (
          <p>
            <a href={eventLink(event)}>Where it began to go wrong: event {event}</a>
          </p>
        )}
      </div>
    );
  }
  if (status === "running" && document?.owner === null && store.caughtUp) {
    return (
      <div class="problem" role="alert">
        <p>
          <span aria-hidden="true" class="problem-mark">▲</span>{" "}
          No process carries this run out. Nothing that was finished is lost.
        </p>
        <p class="problem-how">Resume it to have it go on here.</p>
      </div>
    );
  }
  return null;
}
