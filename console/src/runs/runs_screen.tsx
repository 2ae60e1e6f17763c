// Runs: the form that starts a run, and the list of runs. The URL holds the filter.

import { useEffect, useRef, useState } from "preact/hooks";
import { getRuns, type RunFilter } from "../api.ts";
import { now } from "../clock.ts";
import { useKeys } from "../keys.ts";
import { place, setQuery } from "../router.ts";
import { may } from "../session.ts";
import { Button, useAction } from "../ui/button.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Composer } from "./composer.tsx";
import { Examples } from "./examples.tsx";
import { Filters } from "./filters.tsx";
import { extended, type Listing, momentOf, NOTHING, refreshed } from "./listing.ts";
import { RunsTable } from "./runs_table.tsx";

const EVERY_MS = 2000;
const PAGE = 50;
const MOST_LIVE = 200;

export function RunsScreen() {
  useTitle("Runs");
  const { query } = place.value;
  const filter = {
    status: query.get("status") ?? "",
    q: query.get("q") ?? "",
    since: query.get("since") ?? "",
    asking: query.has("asking"),
  };
  const key = JSON.stringify(filter);
  const [{ held, of }, setHeld] = useState<{ held: Listing; of: string }>({
    held: NOTHING,
    of: key,
  });
  const listing = of === key ? held : NOTHING;
  const shown = useRef(0);
  shown.current = listing.lines.length;

  const asked = (): RunFilter => ({
    status: filter.status,
    q: filter.q,
    since: momentOf(filter.since, now.peek()),
    ...(filter.asking && { asking: true }),
  });
  const newest = useLoaded(
    (giving) =>
      getRuns(
        { ...asked(), limit: Math.min(MOST_LIVE, Math.max(PAGE, shown.current)) },
        giving,
      ),
    { key, everyMs: EVERY_MS },
  );
  useEffect(() => {
    const page = newest.value;
    if (page) {
      setHeld((was) => ({ held: refreshed(was.of === key ? was.held : NOTHING, page), of: key }));
    }
  }, [newest.value]);

  const more = useAction(async () => {
    if (listing.cursor === null) return;
    const page = await getRuns({ ...asked(), limit: PAGE, cursor: listing.cursor });
    setHeld((was) => was.of === key ? { held: extended(was.held, page), of: key } : was);
  });

  useRowKeys();
  const filtered = Boolean(filter.status || filter.q || filter.since || filter.asking);
  const none = newest.value !== null && listing.lines.length === 0 &&
    newest.value.runs.length === 0;
  return (
    <div class="runs">
      <h1 class="unseen">Runs</h1>
      {may("run") && <Composer />}
      {none && !filtered ? <Examples /> : (
        <section aria-label="All runs" class="runs-list">
          <Filters filter={filter} />
          <ProblemNote problem={newest.problem?.code === "unreachable" ? null : newest.problem} />
          {none && (
            <div class="empty">
              <p>No matching runs.</p>
              <Button onClick={clear}>Show all runs</Button>
            </div>
          )}
          {listing.lines.length > 0 && <RunsTable lines={listing.lines} />}
          {newest.loading && listing.lines.length === 0 && (
            <p class="waiting" role="status">Loading the runs…</p>
          )}
          {listing.cursor !== null && (
            <div class="runs-more">
              <ProblemNote problem={more.problem} />
              <Button busy={more.busy} onClick={more.run}>More runs</Button>
            </div>
          )}
        </section>
      )}
    </div>
  );
}

function clear(): void {
  setQuery({ status: null, q: null, since: null, asking: null });
}

/** Let j and k move the focus from row to row. */
function useRowKeys(): void {
  const rows = () => [...document.querySelectorAll<HTMLElement>(".runs-table a.run-link")];
  function walk(by: 1 | -1): void {
    const all = rows();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
    all[Math.max(0, Math.min(all.length - 1, to))]?.focus();
  }
  useKeys("Runs", {
    j: { does: "Next run", act: () => walk(1) },
    k: { does: "Previous run", act: () => walk(-1) },
    Enter: { does: "Open the run", act: () => rows()[0]?.focus() },
    "/": {
      does: "Filter by text",
      act: () => document.querySelector<HTMLInputElement>("#runs-text")?.focus(),
    },
    n: {
      does: "New request",
      act: () => document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus(),
    },
    Escape: {
      does: "Leave the field, then clear the filter",
      act: () => {
        const held = document.activeElement;
        if (held instanceof HTMLElement && held !== document.body) held.blur();
        else clear();
      },
    },
  });
}
