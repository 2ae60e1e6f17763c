// The head of the run screen: the request, its status, its cost so far, and the actions.

import { now } from "../clock.ts";
import { count, duration, money, shortened } from "../formats.ts";
import { Tags } from "../runs/tags.tsx";
import { StatusMark } from "../ui/status.tsx";
import type { RunDocument } from "../wire.ts";
import { numberOf } from "./state/lanes.ts";
import type { RunView } from "./state/run_view.ts";
import { Outcome } from "./actions/outcome.tsx";
import { RunActions } from "./actions/run_actions.tsx";
import type { RunStore } from "./state/store.ts";
import { isOver, millis } from "./state/view.ts";
import { STATUS_WORDS } from "./words.ts";

const NANO = 1e9;

export function Head({ store }: { store: RunStore }) {
  const run = store.view.run.value;
  const document = store.document.value;
  return (
    <header class="run-head">
      <div class="run-title">
        <h1 dir="auto">{document?.request ?? run.request}</h1>
        <p class="run-state">
          <StatusMark status={store.status.value} />
          <Reason store={store} />
          <span class="muted">
            {run.flow} · {run.model}
          </span>
          {document?.name && <strong dir="auto">{document.name}</strong>}
          {document && <Tags tags={document.tags} />}
          <Related document={document} />
        </p>
        <Waits store={store} />
      </div>
      <RunActions store={store} />
      <Figures store={store} />
      <Outcome store={store} />
    </header>
  );
}

/** Why the run rests. */
function Reason({ store }: { store: RunStore }) {
  const { reason } = store.view.run.value;
  const document = store.document.value;
  if (store.status.value === "waiting" && document?.status === "waiting") {
    return <a href="#asked">{document.outcome.headline}</a>;
  }
  return reason && !isOver(store.status.value) ? <span class="muted">{reason}</span> : null;
}

function Waits({ store }: { store: RunStore }) {
  const waits = Object.values(store.view.run.value.waits);
  // Read the clock only while something is awaited.
  const shown = waits.filter((wait) => (millis(wait.until) ?? 0) > now.value);
  return <>{shown.map((wait) => <p key={wait.text} class="tone-asks">{wait.text}</p>)}</>;
}

const MAX_REQUEST = 60;
const MAX_FOLLOW_UPS = 5;

/** Links to the runs that this one was forked from, follows up, and is followed up by. */
function Related({ document }: { document: RunDocument | null }) {
  if (document === null) return null;
  const { forked_from: forked, follows, followed_by: later } = document;
  return (
    <>
      {forked && (
        <span class="muted">
          · forked from <RunLink runId={forked.run_id} />
        </span>
      )}
      {follows && (
        <span class="muted">
          · follows up{" "}
          <RunLink runId={follows.run_id}>{shortened(follows.request, MAX_REQUEST)}</RunLink>
        </span>
      )}
      {later.length > 0 && (
        <span class="muted">
          · followed up by {later.slice(0, MAX_FOLLOW_UPS).map((runId) => (
            <>
              <RunLink key={runId} runId={runId} />
              {" "}
            </>
          ))}
          {later.length > MAX_FOLLOW_UPS && `and ${later.length - MAX_FOLLOW_UPS} more`}
        </span>
      )}
    </>
  );
}

function RunLink({ runId, children = runId }: { runId: string; children?: string }) {
  return <a href={`/runs/${encodeURIComponent(runId)}`}>{children}</a>;
}

function Figures({ store }: { store: RunStore }) {
  const { view } = store;
  const spend = view.spend.value;
  return (
    <div class="figures">
      <Figure word="Workers">
        <Workers view={view} />
      </Figure>
      <Figure word="Time">
        <Elapsed store={store} />
      </Figure>
      <Figure word="Cost">
        <Spent store={store} />
      </Figure>
      <Figure word="Usage">
        {count(spend.requests, "request")}, {count(spend.tokens, "token")}
      </Figure>
    </div>
  );
}

const STATES = [
  ["running", "tone-busy"],
  ["retrying", "tone-asks"],
  ["waiting", "tone-asks"],
  ["failed", "tone-bad"],
  ["dropped", ""],
  ["cancelled", ""],
] as const;

/** The subtasks by state; of a run without any, the steps that its lead dispatched. */
function Workers({ view }: { view: RunView }) {
  const subtasks = view.counts.value;
  const number = subtasks() > 0
    ? subtasks
    : numberOf(view.steps.value.filter(({ parent }) => parent));
  if (number() === 0) return <>None</>;
  return (
    <>
      <strong>{number("completed").toLocaleString("en")}</strong> of{" "}
      {subtasks() > 0 ? number().toLocaleString("en") : count(number(), "subagent")} completed
      {STATES.filter(([state]) => number(state) > 0).map(([state, tone]) => (
        <span key={state} class={tone}>
          , {number(state)} {STATUS_WORDS[state].toLowerCase()}
        </span>
      ))}
    </>
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

function Elapsed({ store }: { store: RunStore }) {
  const { startedAt, lastAt, run } = store.view;
  // Read the clock only while the run continues, so that a finished run is not drawn each second.
  const to = isOver(store.status.value)
    ? millis(run.value.finished_at) ?? lastAt
    : Math.max(now.value, lastAt);
  return <>{duration((to - startedAt) / 1000)}</>;
}

function Spent({ store }: { store: RunStore }) {
  const spend = store.view.spend.value;
  const spent = spend.nanousd / NANO;
  const words = `${spend.unpriced ? "at least " : ""}${money(spent)}`;
  if (spend.budget_nanousd === undefined) return <>{words}, no limit</>;
  const budget = spend.budget_nanousd / NANO;
  const part = (nano: number) =>
    `${Math.min(100, budget ? nano / NANO / budget * 100 : 0).toFixed(2)}%`;
  return (
    <>
      <span>{words} of {money(budget)}</span>
      <div
        class="meter"
        role="meter"
        aria-label="Cost against the budget"
        aria-valuemin={0}
        aria-valuemax={budget}
        aria-valuenow={Math.min(spent, budget)}
        aria-valuetext={`${words} of ${money(budget)}`}
      >
        <i class="meter-spent" style={{ width: part(spend.nanousd) }} />
      </div>
    </>
  );
}
