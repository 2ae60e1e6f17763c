// Filters for the list of runs: status, text, time, and open approvals.

import { STATUSES } from "../ui/status.tsx";
import { capitalized } from "../formats.ts";
import { place, setQuery } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { SearchField } from "../ui/search_field.tsx";
import { SPANS } from "./listing.ts";

interface Filter {
  readonly status: string;
  readonly q: string;
  readonly since: string;
  readonly asking: boolean;
}

export function Filters({ filter }: { filter: Filter }) {
  const charted = place.value.query.has("chart");
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter runs"
      onSubmit={(event) => event.preventDefault()}
    >
      <label class="filter text">
        <span class="unseen">Filter by text</span>
        <SearchField
          id="runs-text"
          placeholder="Filter by text"
          value={filter.q}
          onChange={(q) => setQuery({ q })}
        />
      </label>
      <label class="filter">
        <span class="unseen">Status</span>
        <select
          value={filter.status}
          onChange={(event) => setQuery({ status: event.currentTarget.value })}
        >
          <option value="">Any status</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>{capitalized(status)}</option>
          ))}
        </select>
      </label>
      <label class="filter">
        <span class="unseen">Started</span>
        <select
          value={filter.since}
          onChange={(event) => setQuery({ since: event.currentTarget.value })}
        >
          <option value="">Any time</option>
          {Object.entries(SPANS).map(([span, { label }]) => (
            <option key={span} value={span}>{label}</option>
          ))}
          {filter.since && !SPANS[filter.since] && (
            <option value={filter.since}>Since {filter.since}</option>
          )}
        </select>
      </label>
      <label class="filter check">
        <input
          type="checkbox"
          checked={filter.asking}
          onChange={(event) => setQuery({ asking: event.currentTarget.checked ? "1" : null })}
        />
        Needs approval
      </label>
      <Button
        small
        pressed={charted}
        onClick={() => setQuery({ chart: charted ? null : "cost" })}
      >
        Chart
      </Button>
    </form>
  );
}
