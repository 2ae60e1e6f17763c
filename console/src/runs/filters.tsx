// Filters for the list of runs: status, text, time, and open approvals.

import { useEffect, useRef, useState } from "preact/hooks";
import { STATUSES } from "../ui/status.tsx";
import { capitalized } from "../formats.ts";
import { setQuery } from "../router.ts";
import { SPANS } from "./listing.ts";

export interface Filter {
  readonly status: string;
  readonly q: string;
  readonly since: string;
  readonly asking: boolean;
}

const SETTLED_MS = 250;

export function Filters({ filter }: { filter: Filter }) {
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter runs"
      onSubmit={(event) => event.preventDefault()}
    >
      <TextFilter q={filter.q} />
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
    </form>
  );
}

/** Copy the text into the URL once typing has settled, and the URL (back, clear) into the field. */
function TextFilter({ q }: { q: string }) {
  const [text, setText] = useState(q);
  const sent = useRef(q);
  useEffect(() => {
    if (q !== sent.current) {
      sent.current = q;
      setText(q);
    }
  }, [q]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      setQuery({ q: text });
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="filter text">
      <span class="unseen">Filter by text</span>
      <input
        id="runs-text"
        type="search"
        placeholder="Filter by text"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  );
}
