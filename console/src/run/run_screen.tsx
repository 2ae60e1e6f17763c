// One run, live: its head, the fleet, the timeline and the log on the left, approvals and details on the right.

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
import { Head } from "./head.tsx";
import { RunSummary } from "./run_summary.tsx";
import { pauseOrResume } from "./run_verbs.tsx";
import { Side } from "./side.tsx";
import { RunStore } from "./store.ts";
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
  const problem = store.problem.value;
  if (store.version.value > 0) return <Shown store={store} runId={runId} />;
  return problem === null
    ? <p class="waiting" role="status">Loading the run…</p>
    : (
      <div class="empty">
        <h1>{problem.status === 404 ? "Run not found" : "The run could not be loaded"}</h1>
        <ProblemNote problem={problem} />
        <a href="/runs">All runs</a>
      </div>
    );
}

function Shown({ store, runId }: { store: RunStore; runId: string }) {
  const selection = chosen.value;
  // A link to an event stays at that event.
  const [following, setFollowing] = useState(() => selection.seq === null);
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
    j: { does: "Next row of the focused list", act: () => focusedList()?.move(1) },
    k: { does: "Previous row", act: () => focusedList()?.move(-1) },
    Enter: { does: "Inspect the row", act: () => focusedList()?.enter() },
    Escape: {
      does: "Clear the selection",
      act: (event) => {
        (event.target as HTMLElement | null)?.blur?.();
        chooseNothing();
      },
    },
    f: { does: "Follow the newest event", act: () => setFollowing(!following) },
    "/": {
      does: "Filter the events",
      act: () => document.getElementById("log-filter")?.focus(),
    },
    ".": {
      does: "Pause or resume the run",
      act: () => {
        pauseOrResume(store, runId, store.status).catch((error) => announce(asProblem(error).what));
      },
    },
    "[": { does: "Previous tab", act: () => turnTab(-1) },
    "]": { does: "Next tab", act: () => turnTab(1) },
  });
}

/** Read the version for the fleet alone, so that nothing around it is drawn with it. */
function FleetOf({ store, worker }: { store: RunStore; worker: string }) {
  return <Fleet model={store.live} statuses={store.live.statuses} worker={worker} />;
}

const LONGEST_TITLE = 60;

function TabTitle({ store }: { store: RunStore }) {
  const model = store.live;
  const { glyph } = markOf(store.status);
  const { completed, total } = model.view.counts.current;
  const counted = total ? ` ${completed}/${total}` : "";
  useTitle(`${glyph}${counted} ${shortened(model.view.run.request, LONGEST_TITLE)}`);
  return null;
}
