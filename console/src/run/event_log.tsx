// The event log: a row for each entry, newest last; filtered, followed, and each row a link that can be copied.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { place } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { chooseEvent, type Chosen, eventLink, setFilter, toggleKind } from "./chosen.ts";
import { useFocusedList } from "./focused_list.ts";
import { FilteredRows, type Kind, KINDS, type LogRow } from "./log_rows.ts";
import { useRowList } from "./row_list.ts";
import { momentIn } from "./scale.ts";
import type { RunStore } from "./store.ts";

const ROW = 24;
const ROOM_BELOW = 8;
const CHIPS: readonly Kind[] = ["problems", "tools", "models", "subtasks", "people"];
const TYPING_MS = 150;

interface EventLogProps {
  readonly store: RunStore;
  readonly chosen: Chosen;
  readonly following: boolean;
  readonly onFollow: (following: boolean) => void;
}

export function EventLog({ store, chosen, following, onFollow }: EventLogProps) {
  const model = store.live;
  const version = store.version.value;
  const filtered = useRef(new FilteredRows());
  const kinds = chosen.kinds.reduce((sum, kind) => sum | KINDS[kind], 0);
  const rows = filtered.current.rows(model.log, { text: chosen.filter, kinds });
  const list = useRowList({ count: rows.length, rowHeight: ROW });
  const startedAt = model.startedAt ?? 0;
  const arrived = chosen.seq !== null && model.seq >= chosen.seq;

  useLayoutEffect(() => {
    const element = list.scroller.current;
    if (following && element) element.scrollTop = element.scrollHeight;
  }, [following, version, rows.length]);
  useEffect(() => {
    if (chosen.seq === null || !arrived) return;
    const at = indexOf(rows, chosen.seq);
    if (at < 0) return;
    list.setActive(at);
    list.show(at);
  }, [chosen.seq, arrived]);

  function choose(row: LogRow | undefined): void {
    if (!row) return;
    onFollow(false); // who looks at one event is not carried away from it
    chooseEvent(row.seq, model.byKey.has(row.subject) ? row.subject : "");
  }
  const onFocus = useFocusedList({
    move(by) {
      onFollow(false);
      list.move(by);
    },
    enter: () => choose(rows[list.active]),
  });
  const inSight = list.active >= list.first && list.active < list.end;
  return (
    <section class="panel event-log" aria-labelledby="log-title">
      <div class="panel-head">
        <h2 id="log-title">
          Events <span class="muted small">{rows.length.toLocaleString("en")}</span>
        </h2>
        <div class="chips" role="group" aria-label="Show only">
          {CHIPS.map((kind) => (
            <Button
              key={kind}
              small
              pressed={chosen.kinds.includes(kind)}
              onClick={() => toggleKind(kind)}
            >
              {kind[0]!.toUpperCase() + kind.slice(1)}
            </Button>
          ))}
        </div>
        <div class="buttons">
          <FilterField value={chosen.filter} />
          <Button
            small
            pressed={following}
            title="Keep the newest event in sight (f)"
            onClick={() => onFollow(!following)}
          >
            Follow
          </Button>
        </div>
      </div>
      <div
        ref={list.scroller}
        class="rows log-rows"
        role="grid"
        aria-label="Events, oldest first"
        aria-rowcount={rows.length}
        aria-colcount={5}
        tabIndex={0}
        aria-activedescendant={inSight ? `log-row-${rows[list.active]?.seq}` : undefined}
        style={{ "--content": `${rows.length * ROW + ROOM_BELOW}px` }}
        onScroll={list.onScroll}
        onFocus={onFocus}
        onWheel={(event) => {
          // Only what the person does lets go of the end, never a scroll of our own.
          if (event.deltaY < 0) onFollow(false);
        }}
        onTouchMove={() => onFollow(false)}
        onPointerDown={(event) => {
          const { currentTarget: grid, offsetX } = event;
          if (event.target === grid && offsetX >= grid.clientWidth) onFollow(false); // the scroll bar
        }}
        onKeyDown={(event) => {
          if (list.onKey(event)) onFollow(event.key === "End");
        }}
      >
        <div class="rows-inside" role="rowgroup" style={{ height: `${rows.length * ROW}px` }}>
          {rows.slice(list.first, list.end).map((row, offset) => (
            <EventRow
              key={row.seq}
              row={row}
              index={list.first + offset}
              when={momentIn(row.at - startedAt, (model.lastAt ?? startedAt) - startedAt)}
              chosen={row.seq === chosen.seq}
              active={list.first + offset === list.active}
              onChoose={choose}
            />
          ))}
        </div>
      </div>
      {rows.length === 0 && (
        <p class="muted panel-note">
          {model.log.length ? "No event is like that." : "No event has come yet."}
        </p>
      )}
    </section>
  );
}

interface EventRowProps {
  readonly row: LogRow;
  readonly index: number;
  readonly when: string;
  readonly chosen: boolean;
  readonly active: boolean;
  readonly onChoose: (row: LogRow) => void;
}

function EventRow({ row, index, when, chosen, active, onChoose }: EventRowProps) {
  const state = `${chosen ? " chosen" : ""}${active ? " active" : ""}${
    row.problem ? " problem-row" : ""
  }`;
  return (
    <div
      id={`log-row-${row.seq}`}
      class={`log-row${state}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={chosen}
      style={{ top: `${index * ROW}px` }}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        onChoose(row);
      }}
    >
      <span role="gridcell" class="log-seq">
        <a href={eventLink(row.seq)} tabIndex={-1} title="A link to this event">{row.seq}</a>
      </span>
      <span role="gridcell" class="log-time">{when}</span>
      <span role="gridcell" class="log-words">
        <span aria-hidden="true" class="log-mark">{row.problem ? "▲" : ""}</span>
        {row.words}
      </span>
      <span role="gridcell" class="log-subject">{row.subject}</span>
      <span role="gridcell" class="log-text" title={row.text}>{row.text}</span>
    </div>
  );
}

/** What is typed reaches the URL, and so the filter, once the person pauses. */
function FilterField({ value }: { value: string }) {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const { path } = place.value;
  useEffect(() => setTyped(value), [value, path]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      id="log-filter"
      type="search"
      class="log-filter"
      placeholder="Filter"
      aria-label="Filter events by text"
      value={typed}
      onInput={(event) => {
        const text = event.currentTarget.value;
        setTyped(text);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setFilter(text), TYPING_MS);
      }}
    />
  );
}

/** Rows stand in the order of seq. */
function indexOf(rows: LogRow[], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.seq < seq) low = middle + 1;
    else high = middle;
  }
  return rows[low]?.seq === seq ? low : -1;
}
