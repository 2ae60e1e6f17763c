// The event log: a row for each event, newest last. Rows are loaded when they come into sight.

import { useEffect, useLayoutEffect } from "preact/hooks";
import { capitalized } from "../../formats.ts";
import { Button } from "../../ui/button.tsx";
import { SearchField } from "../../ui/search_field.tsx";
import { isProblem, KINDS } from "./event_pages.ts";
import { useRowList } from "../../ui/row_list.ts";
import { momentIn } from "../timeline/scale.ts";
import { eventLink, selectEvent, type Selection, setFilter, toggleKind } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import type { EventSummary } from "../state/view.ts";

const ROW = 24;
/** Narrow lists have the text of an event below its title. */
const NARROW = 480;
const TWO_LINES = 44;
const BOTTOM_MARGIN = 8;

interface EventLogProps {
  readonly store: RunStore;
  readonly selection: Selection;
  readonly following: boolean;
  readonly onFollow: (following: boolean) => void;
}

export function EventLog({ store, selection, following, onFollow }: EventLogProps) {
  const { view, log } = store;
  const last = view.seq.value;
  const loaded = log.loaded.value;
  const filtering = selection.filter !== "" || selection.kinds.length > 0;
  // Without a filter every event has a row, loaded or not. A filter can only match events that are loaded.
  const matching = filtering
    ? log.matching({ text: selection.filter, kinds: selection.kinds }, last)
    : null;
  const count = matching?.length ?? last;
  const seqAt = (index: number) => matching ? matching[index]?.seq : index + 1;
  const indexOf = (seq: number) =>
    matching ? matching.findIndex((event) => event.seq === seq) : seq - 1;
  const list = useRowList({
    count,
    rowHeight: (width) => width < NARROW ? TWO_LINES : ROW,
    onEnter: (row) => select(seqAt(row)),
  });
  const { rowHeight } = list;
  const lasted = view.lastAt - view.startedAt;
  const arrived = selection.seq !== null && last >= selection.seq &&
    indexOf(selection.seq) >= 0;

  useEffect(() => {
    if (filtering) store.loadEvents(1, last);
    else if (list.end > list.first) {
      const first = Math.floor((list.scroller.current?.scrollTop ?? 0) / rowHeight);
      store.loadEvents(first, first + list.end - list.first);
    }
  });
  useLayoutEffect(() => {
    const element = list.scroller.current;
    if (following && element) element.scrollTop = element.scrollHeight;
  }, [following, loaded, count, rowHeight, selection.part]);
  useEffect(() => {
    if (selection.seq === null || !arrived) return;
    const at = indexOf(selection.seq);
    list.setActive(at);
    list.show(at);
  }, [selection.seq, arrived, selection.part]);

  function select(seq: number | undefined): void {
    if (seq === undefined) return;
    onFollow(false); // keep the selected event in sight
    const subject = log.get(seq)?.words.subject ?? "";
    selectEvent(seq, view.step(subject) ? subject : "");
  }
  return (
    <section class="panel event-log" aria-labelledby="log-title">
      <div class="panel-head">
        <h2 id="log-title">
          Events <span class="muted small">{count.toLocaleString("en")}</span>
        </h2>
        <div class="chips" role="group" aria-label="Filter by kind">
          {KINDS.map((kind) => (
            <Button
              key={kind}
              small
              pressed={selection.kinds.includes(kind)}
              onClick={() => toggleKind(kind)}
            >
              {capitalized(kind)}
            </Button>
          ))}
        </div>
        <div class="buttons">
          <SearchField
            id="log-filter"
            class="log-filter"
            placeholder="Filter"
            aria-label="Filter events by text"
            value={selection.filter}
            onChange={setFilter}
          />
          <Button
            small
            pressed={following}
            title="Follow the newest event (f)"
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
        aria-rowcount={count}
        aria-colcount={5}
        tabIndex={0}
        aria-activedescendant={list.isActiveDrawn ? `log-row-${seqAt(list.active)}` : undefined}
        style={{ "--content": `${count * rowHeight + BOTTOM_MARGIN}px` }}
        onScroll={list.onScroll}
        onWheel={(event) => {
          // Only the person's own scrolling stops following, never a scroll of the console.
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
        <div class="rows-inside" role="rowgroup" style={{ height: `${count * rowHeight}px` }}>
          {Array.from({ length: Math.max(0, list.end - list.first) }, (_, offset) => {
            const index = list.first + offset;
            const seq = seqAt(index)!;
            const event = log.get(seq);
            return (
              <EventRow
                key={seq}
                seq={seq}
                event={event}
                index={index}
                top={index * rowHeight}
                time={event ? momentIn(Date.parse(event.at) - view.startedAt, lasted) : ""}
                selected={seq === selection.seq}
                active={index === list.active}
                onSelect={select}
              />
            );
          })}
        </div>
      </div>
      {filtering && loaded < last && (
        <p class="muted panel-note" role="status">
          Searched {loaded.toLocaleString("en")} of {last.toLocaleString("en")} events…
        </p>
      )}
      {count === 0 && loaded >= last && (
        <p class="muted panel-note">{last ? "No matching events." : "No events yet."}</p>
      )}
    </section>
  );
}

interface EventRowProps {
  readonly seq: number;
  /** Undefined until it is loaded. */
  readonly event: EventSummary | undefined;
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly top: number;
  readonly time: string;
  readonly selected: boolean;
  readonly active: boolean;
  readonly onSelect: (seq: number) => void;
}

function EventRow(
  { seq, event, index, top, time, selected, active, onSelect }: EventRowProps,
) {
  const problem = event !== undefined && isProblem(event);
  const state = `${selected ? " selected" : ""}${active ? " active" : ""}${
    problem ? " problem-row" : ""
  }`;
  return (
    <div
      id={`log-row-${seq}`}
      class={`log-row${state}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={selected}
      aria-busy={event === undefined}
      style={{ top: `${top}px` }}
      onClick={(click) => {
        if (click.metaKey || click.ctrlKey || click.shiftKey || click.altKey) return;
        click.preventDefault();
        onSelect(seq);
      }}
    >
      <span role="gridcell" class="log-seq">
        <a href={eventLink(seq)} tabIndex={-1} title="Link to this event">{seq}</a>
      </span>
      <span role="gridcell" class="log-time">{time}</span>
      <span role="gridcell" class="log-words">
        <span aria-hidden="true" class="log-mark">{problem ? "▲" : ""}</span>
        {event?.words.title}
      </span>
      <span role="gridcell" class="log-subject">{event?.words.subject}</span>
      <span role="gridcell" class="log-text" title={event?.words.text}>{event?.words.text}</span>
    </div>
  );
}
