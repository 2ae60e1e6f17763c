// The event log: a row for each event, newest last; rows are fetched when they come into sight.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { place } from "../router.ts";
import { Button } from "../ui/button.tsx";
import { chooseEvent, type Chosen, eventLink, setFilter, toggleKind } from "./chosen.ts";
import { isProblem, KINDS, type LogRow } from "./event_pages.ts";
import { useFocusedList } from "./focused_list.ts";
import { useRowList } from "./row_list.ts";
import { momentIn } from "./scale.ts";
import type { RunStore } from "./store.ts";

const ROW = 24;
const ROOM_BELOW = 8;
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
  const filtering = chosen.filter !== "" || chosen.kinds.length > 0;
  // Without a filter, every event has a place, known or not; a filter can only pass what is known.
  const matching = filtering
    ? store.log.matching({ text: chosen.filter, kinds: chosen.kinds }, model.seq)
    : null;
  const count = matching?.length ?? model.seq;
  const seqAt = (index: number) => matching ? matching[index]?.seq : index + 1;
  const indexOf = (seq: number) =>
    matching ? matching.findIndex((row) => row.seq === seq) : seq - 1;
  const list = useRowList({ count, rowHeight: ROW });
  const lasted = model.lastAt - model.startedAt;
  const arrived = chosen.seq !== null && model.seq >= chosen.seq && indexOf(chosen.seq) >= 0;

  useEffect(() => {
    if (filtering) store.needEvents(1, model.seq);
    else if (list.end > list.first) store.needEvents(list.first + 1, list.end);
  });
  useLayoutEffect(() => {
    const element = list.scroller.current;
    if (following && element) element.scrollTop = element.scrollHeight;
  }, [following, version, count]);
  // Rows that a search finds above the rows in sight must not push them away.
  const top = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    const element = list.scroller.current;
    const at = top.current === undefined || !element ? -1 : indexOf(top.current);
    if (matching && !following && element && at >= 0) {
      element.scrollTop = at * ROW + element.scrollTop % ROW;
    }
  }, [count]);
  useLayoutEffect(() => {
    top.current = seqAt(Math.floor((list.scroller.current?.scrollTop ?? 0) / ROW));
  });
  useEffect(() => {
    if (chosen.seq === null || !arrived) return;
    const at = indexOf(chosen.seq);
    list.setActive(at);
    list.show(at);
  }, [chosen.seq, arrived]);

  function choose(seq: number | undefined): void {
    if (seq === undefined) return;
    onFollow(false); // keep the chosen event in sight
    const subject = store.log.row(seq)?.words.subject ?? "";
    chooseEvent(seq, model.byKey.has(subject) ? subject : "");
  }
  const onFocus = useFocusedList({
    move(by) {
      onFollow(false);
      list.move(by);
    },
    enter: () => choose(seqAt(list.active)),
  });
  const inSight = list.active >= list.first && list.active < list.end;
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
        aria-activedescendant={inSight ? `log-row-${seqAt(list.active)}` : undefined}
        style={{ "--content": `${count * ROW + ROOM_BELOW}px` }}
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
        <div class="rows-inside" role="rowgroup" style={{ height: `${count * ROW}px` }}>
          {Array.from({ length: Math.max(0, list.end - list.first) }, (_, offset) => {
            const index = list.first + offset;
            const seq = seqAt(index)!;
            const row = store.log.row(seq);
            return (
              <EventRow
                key={seq}
                seq={seq}
                row={row}
                index={index}
                when={row ? momentIn(row.at - model.startedAt, lasted) : ""}
                chosen={seq === chosen.seq}
                active={index === list.active}
                onChoose={choose}
              />
            );
          })}
        </div>
      </div>
      {filtering && store.log.known < model.seq && (
        <p class="muted panel-note" role="status">
          Searched {store.log.known.toLocaleString("en")} of {model.seq.toLocaleString("en")}{" "}
          events…
        </p>
      )}
      {count === 0 && store.log.known >= model.seq && (
        <p class="muted panel-note">{model.seq ? "No matching events." : "No events yet."}</p>
      )}
    </section>
  );
}

interface EventRowProps {
  readonly seq: number;
  /** Undefined until it is fetched. */
  readonly row: LogRow | undefined;
  readonly index: number;
  readonly when: string;
  readonly chosen: boolean;
  readonly active: boolean;
  readonly onChoose: (seq: number) => void;
}

function EventRow({ seq, row, index, when, chosen, active, onChoose }: EventRowProps) {
  const problem = row !== undefined && isProblem(row);
  const state = `${chosen ? " chosen" : ""}${active ? " active" : ""}${
    problem ? " problem-row" : ""
  }`;
  return (
    <div
      id={`log-row-${seq}`}
      class={`log-row${state}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={chosen}
      aria-busy={row === undefined}
      style={{ top: `${index * ROW}px` }}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        onChoose(seq);
      }}
    >
      <span role="gridcell" class="log-seq">
        <a href={eventLink(seq)} tabIndex={-1} title="Link to this event">{seq}</a>
      </span>
      <span role="gridcell" class="log-time">{when}</span>
      <span role="gridcell" class="log-words">
        <span aria-hidden="true" class="log-mark">{problem ? "▲" : ""}</span>
        {row?.words.title}
      </span>
      <span role="gridcell" class="log-subject">{row?.words.subject}</span>
      <span role="gridcell" class="log-text" title={row?.words.text}>{row?.words.text}</span>
    </div>
  );
}

/** A search field; its text reaches the URL, and so the filter, once the person pauses. */
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
