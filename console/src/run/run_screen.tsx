// One run, live: head and fleet on top, timeline and log on the left, approvals and details on the right.

import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { onChanges } from "../changes.ts";
import { link } from "../connection.ts";
import { capitalized, shortened } from "../formats.ts";
import { useShortcuts } from "../keys.ts";
import { announce } from "../ui/announce.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { lazy } from "../ui/lazy.tsx";
import { markOf, StatusMark } from "../ui/status.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import { asProblem } from "../problem.ts";
import { setQuery, withQuery } from "../router.ts";
import { EventLog } from "./log/event_log.tsx";
import { Fleet } from "./timeline/fleet.tsx";
import { Head } from "./head.tsx";
import { pauseOrResume } from "./actions/run_actions.tsx";
import { clearSelection, PARTS, selection, selectTab, tabsOf } from "./selection.ts";
import { AnswerOf, Side } from "./side.tsx";
import { RunStore } from "./state/store.ts";
import { Timeline } from "./timeline/timeline.tsx";
import { isOver } from "./state/view.ts";
import type { RunDocument } from "../wire.ts";
import { STATUS_WORDS } from "./words.ts";

const IDLE_MS = 2_000;
const SUMMARY_MS = 5_000;
const StageStrip = lazy("StageStrip");

export function RunScreen({ runId }: { runId: string }) {
  const store = useMemo(() => new RunStore(runId), [runId]);
  useEffect(() => {
    store.open();
    const stop = effect(() => {
      link.value = store.link.value;
      // A run that is over has no stream of its own that could say that it goes on. Connections of a browser are few.
      if (store.link.value === "ended") {
        return onChanges((runIds) => {
          if (runIds?.has(runId) ?? true) store.hear();
        });
      }
    });
    return () => {
      stop();
      store.close();
      link.value = null;
    };
  }, [store]);
  const problem = store.problem.value;
  if (store.loaded.value) return <LoadedRun store={store} />;
  return (
    <div class="run-screen">
      {problem === null ? <Waiting what="the run" /> : (
        <div class="empty">
          <h1>{problem.status === 404 ? "Run not found" : "The run could not be loaded"}</h1>
          {problem.status === 404
            ? (
              <p>
                There is no run <code>{runId}</code>. It may have been deleted.
              </p>
            )
            : <ProblemNote problem={problem} />}
          <a href="/runs">All runs</a>
        </div>
      )}
    </div>
  );
}

function LoadedRun({ store }: { store: RunStore }) {
  const selected = selection.value;
  // A link to an event stays at that event.
  const [following, setFollowing] = useState(() => selected.seq === null);
  useRunShortcuts(store, following, setFollowing);
  const idle = useIdle(store);
  const isReport = store.view.run.value.flow === "report";
  const columns = isReport ? " of-report" : isOver(store.status.value) ? " answered" : "";
  if (selected.reading) return <Reading store={store} />;
  return (
    <div class="run-screen">
      <TabTitle store={store} />
      <Summary store={store} />
      <Head store={store} />
      {idle && <HostWait document={store.document.value} />}
      {isReport && <StageStrip store={store} />}
      <Fleet view={store.view} worker={selected.worker} />
      <nav class="parts" aria-label="Parts of the run">
        {PARTS.map((part) => (
          <a
            key={part}
            class="button small"
            aria-current={selected.part === part ? "true" : undefined}
            href={withQuery({ part })}
          >
            {capitalized(part)}
          </a>
        ))}
      </nav>
      <div class={`run-columns show-${selected.part}${columns}`}>
        <div class="run-main">
          <Timeline view={store.view} selection={selected} />
          <EventLog
            store={store}
            selection={selected}
            following={following}
            onFollow={setFollowing}
          />
        </div>
        <Side store={store} selection={selected} />
      </div>
    </div>
  );
}

/** The request and its answer, without the rest of the run. */
function Reading({ store }: { store: RunStore }) {
  return (
    <div class="reading">
      <TabTitle store={store} />
      <p>
        <a href={withQuery({ read: null })}>Back to the run</a>{" "}
        <StatusMark status={store.status.value} />
      </p>
      <h1 dir="auto">{store.document.value?.request ?? store.view.run.value.request}</h1>
      <AnswerOf store={store} />
    </div>
  );
}

function useRunShortcuts(
  store: RunStore,
  following: boolean,
  setFollowing: (following: boolean) => void,
): void {
  const switchTab = (by: number) => {
    const { tab } = selection.value;
    const tabs = tabsOf(store.view, tab);
    selectTab(tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]!);
  };
  useShortcuts("Run", {
    // The focused list handles these itself; here they are for the help.
    j: { label: "Next row of the focused list", action: () => {} },
    k: { label: "Previous row", action: () => {} },
    Enter: { label: "Inspect the row", action: () => {} },
    Escape: {
      label: "Clear the selection",
      action: (event) => {
        (event.target as HTMLElement | null)?.blur?.();
        if (selection.value.reading) setQuery({ read: null });
        else clearSelection();
      },
    },
    f: { label: "Follow the newest event", action: () => setFollowing(!following) },
    "/": {
      label: "Filter the events",
      action: () => document.getElementById("log-filter")?.focus(),
    },
    ".": {
      label: "Pause or resume the run",
      action: () => {
        pauseOrResume(store).catch((error) => announce(asProblem(error).what));
      },
    },
    "[": { label: "Previous tab", action: () => switchTab(-1) },
    "]": { label: "Next tab", action: () => switchTab(1) },
  });
}

const MAX_TITLE = 60;

function TabTitle({ store: { view, status } }: { store: RunStore }) {
  const { glyph } = markOf(status.value);
  const number = view.counts.value;
  const counted = number() ? ` ${number("completed")}/${number()}` : "";
  useTitle(`${glyph}${counted} ${shortened(view.run.value.request, MAX_TITLE)}`);
  return null;
}

/** The state of the run in one sentence for screen readers, at most every five seconds. */
function Summary({ store }: { store: RunStore }) {
  const [summary, setSummary] = useState("");
  const newest = useRef("");
  newest.current = summaryOf(store);
  useEffect(() => {
    setSummary(newest.current);
    const timer = setInterval(() => setSummary(newest.current), SUMMARY_MS);
    return () => clearInterval(timer);
  }, [store]);
  return <p class="unseen" role="status">{summary}</p>;
}

function summaryOf({ view, status, cards, document }: RunStore): string {
  const number = view.counts.value;
  const parts = [`Run ${status.value}`, `${number("completed")} of ${number()} steps completed`];
  for (const each of ["running", "retrying", "failed", "dropped", "cancelled"] as const) {
    if (number(each) > 0) parts.push(`${number(each)} ${STATUS_WORDS[each].toLowerCase()}`);
  }
  const asked = cards.value.length + (document.value?.question ? 1 : 0);
  if (asked > 0) parts.push(`${asked} waiting for your answer`);
  return parts.join(", ");
}

/** Why a run of which nothing runs waits for a host. */
function HostWait({ document }: { document: RunDocument | null }) {
  if (!document?.waits_for) return null;
  return <p class="panel host-wait" role="status">{capitalized(document.waits_for)}</p>;
}

/** Return whether the run should go on but nothing of it has run for a while: it may wait for a host. */
function useIdle(store: RunStore): boolean {
  const status = store.status.value;
  const resting = (status === "queued" || status === "running") && !store.view.active.value;
  const [idle, setIdle] = useState(false);
  useEffect(() => {
    setIdle(false);
    if (!resting) return;
    const timer = setTimeout(() => {
      setIdle(true);
      store.refresh(); // the document says why
    }, IDLE_MS);
    return () => clearTimeout(timer);
  }, [resting]);
  return idle;
}
