// Runs: the form that starts a run, and the list of runs. The URL holds the filter.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api.ts";
import { now } from "../clock.ts";
import { blurFocused, moveFocus, useShortcuts } from "../keys.ts";
import { place, setQuery } from "../router.ts";
import { may } from "../session.ts";
import { Button, useAction } from "../ui/button.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import { Bulk } from "./bulk.tsx";
import { Composer } from "./composer.tsx";
import { Examples } from "./examples.tsx";
import { Filters } from "./filters.tsx";
import { EMPTY, extended, type Listing, refreshed } from "./listing.ts";
import { filterOf, isNarrowed, NARROWING } from "./filter.ts";
import { RunsTable } from "./runs_table.tsx";

const PAGE = 50;
const MAX_POLLED = 200;

export function RunsScreen() {
  useTitle("Runs");
  const url = place.value.query;
  const key = [...NARROWING, "sort"].map((name) => url.get(name) ?? "").join("\n");
  const sorted = url.has("sort");
  const [state, setState] = useState({ key, listing: EMPTY });
  const listingOf = (current: typeof state): Listing =>
    current.key === key ? current.listing : EMPTY;
  const listing = listingOf(state);

  const query = () => filterOf(url, now.peek());
  const limit = Math.min(MAX_POLLED, Math.max(PAGE, listing.lines.length));
  const newest = useLoaded((options) => get("/api/runs", { ...query(), limit }, options), {
    key,
    live: true,
  });
  useEffect(() => {
    const page = newest.value;
    if (page) setState((last) => ({ key, listing: refreshed(listingOf(last), page, sorted) }));
  }, [newest.value]);

  const more = useAction(async () => {
    if (listing.cursor === null) return;
    const page = await get("/api/runs", { ...query(), limit: PAGE, cursor: listing.cursor });
    setState((last) => last.key === key ? { key, listing: extended(last.listing, page) } : last);
  });

  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  function choose(runId: string, on: boolean): void {
    setChosen((last) => new Set(on ? [...last, runId] : [...last].filter((id) => id !== runId)));
  }
  useRunsShortcuts();
  const filtered = isNarrowed(url);
  const empty = newest.value !== null && listing.lines.length === 0 &&
    newest.value.runs.length === 0;
  return (
    <div class="runs">
      <h1 class="unseen">Runs</h1>
      {may("run") && <Composer compact={!(empty && !filtered) && !url.has("new")} />}
      {empty && !filtered ? <Examples /> : (
        <section aria-label="All runs" class="runs-list">
          <Filters />
          <ProblemNote problem={newest.problem} />
          {empty && (
            <div class="empty">
              <p>No matching runs.</p>
              <Button onClick={clearFilter}>Show all runs</Button>
            </div>
          )}
          <Bulk
            chosen={listing.lines.filter(({ run_id }) => chosen.has(run_id))}
            onClear={() => setChosen(new Set())}
            onDone={newest.reload}
          />
          {listing.lines.length > 0 && (
            <RunsTable lines={listing.lines} chosen={chosen} onChoose={choose} />
          )}
          {newest.value === null && newest.problem === null && listing.lines.length === 0 && (
            <Waiting what="the runs" />
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

function clearFilter(): void {
  setQuery(Object.fromEntries(NARROWING.map((name) => [name, null])));
}

const ROW = ".runs-table a.run-link";

function useRunsShortcuts(): void {
  const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();
  useShortcuts("Runs", {
    j: { label: "Next run", action: () => moveFocus(ROW, 1) },
    k: { label: "Previous run", action: () => moveFocus(ROW, -1) },
    Enter: { label: "Open the run", action: () => focus(ROW) },
    "/": { label: "Search runs", action: () => focus("#runs-text") },
    n: { label: "New request", action: () => focus(".composer textarea") },
    Escape: {
      label: "Leave the field, then clear the filter",
      action: () => {
        if (!blurFocused()) clearFilter();
      },
    },
  });
}
