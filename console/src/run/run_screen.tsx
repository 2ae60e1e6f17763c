// One run, live: its head, the fleet, the timeline and the log on the left, questions and details on the right.

import { useEffect, useMemo, useState } from "preact/hooks";
import { link } from "../connection.ts";
import { shortened } from "../formats.ts";
import { useKeys } from "../keys.ts";
import { announce } from "../ui/announce.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { markOf } from "../ui/status.tsx";
import { useTitle } from "../ui/title.ts";
import { asProblem } from "../problem.ts";
import { BROWSER } from "./browser_service.ts";
import { chooseNothing, chooseTab, chosen, TABS } from "./chosen.ts";
import { EventLog } from "./event_log.tsx";
import { Fleet } from "./fleet.tsx";
import { focusedList } from "./focused_list.ts";
import { Head, statusOf } from "./head.tsx";
import { RunSummary } from "./run_summary.tsx";
import { pauseOrResume } from "./run_verbs.tsx";
import { Side } from "./side.tsx";
import { isOver, RunStore } from "./store.ts";
import { Timeline } from "./timeline.tsx";

export function RunScreen({ runId }: { runId: string }) {
  const store = useMemo(() => new RunStore(runId, BROWSER), [runId]);
  useEffect(() => {
    store.open();
    const unsubscribe = store.link.subscribe((state) => {
      link.value = state;
    });
    return () => {
      unsubscribe();
      store.close();
      link.value = null;
    };
  }, [store]);
  const document = store.document.value;
  const problem = store.problem.value;
  if (document !== null) return <Shown store={store} runId={runId} />;
  return problem === null
    ? <p class="waiting" role="status">Fetching the run…</p>
    : (
      <div class="empty">
        <h1>{problem.status === 404 ? "There is no such run" : "The run could not be fetched"}</h1>
        <ProblemNote problem={problem} />
        <a href="/runs">All runs</a>
      </div>
    );
}

function Shown({ store, runId }: { store: RunStore; runId: string }) {
  const selection = chosen.value;
  // A link to an event stays at that event; a finished run is read from its beginning.
  const [following, setFollowing] = useState(() =>
    selection.seq === null && !isOver(store.document.peek()?.status ?? "")
  );
  useRunKeys(store, runId, following, setFollowing);
  return (
    <div class="run-screen">
      <TabTitle store={store} />
      <RunSummary store={store} />
      <Head store={store} runId={runId} />
      <FleetOf store={store} worker={selection.worker} />
      <div class="run-columns">
        <div class="run-main">
          <Timeline store={store} chosen={selection} />
          <EventLog
            store={store}
            chosen={selection}
            following={following}
            onFollow={setFollowing}
          />
        </div>
        <Side store={store} runId={runId} chosen={selection} />
      </div>
    </div>
  );
}

function useRunKeys(
  store: RunStore,
  runId: string,
  following: boolean,
  setFollowing: (following: boolean) => void,
): void {
  const turnTab = (by: number) => {
    const at = TABS.indexOf(chosen.value.tab);
    chooseTab(TABS[(at + by + TABS.length) % TABS.length]!);
  };
  useKeys("Run", {
    j: { does: "Next row of the list that has the focus", act: () => focusedList()?.move(1) },
    k: { does: "Row before", act: () => focusedList()?.move(-1) },
    Enter: { does: "Inspect the row", act: () => focusedList()?.enter() },
    Escape: {
      does: "Choose nothing",
      act: (event) => {
        (event.target as HTMLElement | null)?.blur?.();
        chooseNothing();
      },
    },
    f: { does: "Follow the newest event, or stop", act: () => setFollowing(!following) },
    "/": {
      does: "Filter the events",
      act: () => document.getElementById("log-filter")?.focus(),
    },
    ".": {
      does: "Pause or resume the run",
      act: () => {
        pauseOrResume(store, runId, statusOf(store)).catch((error) =>
          announce(asProblem(error).what)
        );
      },
    },
    "[": { does: "Tab before", act: () => turnTab(-1) },
    "]": { does: "Next tab", act: () => turnTab(1) },
  });
}

/** The fleet reads the version alone, so that nothing around it is drawn with it. */
function FleetOf({ store, worker }: { store: RunStore; worker: string }) {
  return <Fleet model={store.live} statuses={store.live.statuses} worker={worker} />;
}

const LONGEST_TITLE = 60;

function TabTitle({ store }: { store: RunStore }) {
  const model = store.live;
  const { glyph } = markOf(statusOf(store));
  const counted = model.total ? ` ${model.done}/${model.total}` : "";
  const request = store.document.value?.request ?? model.request;
  useTitle(`${glyph}${counted} ${shortened(request, LONGEST_TITLE)}`);
  return null;
}
