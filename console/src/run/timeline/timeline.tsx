// The timeline: a lane for each step, its attempts as bars, their calls as marks.

import type { ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../../clock.ts";
import { count, duration } from "../../formats.ts";
import { Button } from "../../ui/button.tsx";
import { StatusGlyph } from "../../ui/status.tsx";
import { Bars } from "./bars.tsx";
import { splitLabel } from "../state/labels.ts";
import { idleOf, type Lane } from "../state/lanes.ts";
import type { KeyedOrder, RunView } from "../state/run_view.ts";
import { useRowList, useWidth } from "../../ui/row_list.ts";
import { fitting, type Scale, scaleOf } from "./scale.ts";
import { type Selection, selectWorker, toggleProblemsFirst } from "../selection.ts";
import { isOver, millis } from "../state/view.ts";
import { shownStatus, STATUS_WORDS, URGENCY } from "../words.ts";

const ROW = 26;
const AXIS = 24;
/** The width of the labels until it is measured. */
const INITIAL_LABELS = 240;
const END_MARGIN = 28;
/** The width of a tick with its label. */
const TICK_WIDTH = 42;
/** The height of a scroll bar below the last row. */
const SCROLL_BAR = 16;
const MIN_PX_PER_S = 0.01;
const MAX_PX_PER_S = 4_000;

type Row = { readonly lane: ReadonlySignal<Lane> } | { readonly order: KeyedOrder };

export function Timeline({ view, selection }: { view: RunView; selection: Selection }) {
  const [zoom, setZoom] = useState<number | null>(null); // null: the whole run fits
  const rows = rowsOf(view, selection.problemsFirst);
  const list = useRowList({
    count: rows.length,
    rowHeight: () => ROW,
    head: AXIS,
    onEnter(at) {
      const row = rows[at];
      if (row && "lane" in row) selectWorker(row.lane.peek().key);
    },
  });
  const corner = useRef<HTMLDivElement>(null);
  const labels = useWidth(corner, INITIAL_LABELS);

  const from = view.startedAt;
  const to = endOf(view);
  const room = Math.max(120, list.width - labels - END_MARGIN);
  const idle = useMemo(() => idleOf(view.steps.peek()), [view, to, view.active.value]);
  const perSecond = zoom ?? fitting(from, to, idle, room);
  const scale = useMemo(() => scaleOf(from, to, idle, perSecond), [from, to, idle, perSecond]);

  // Zooming keeps the moment in the middle.
  const middle = useRef<number | null>(null);
  function zoomBy(factor: number): void {
    const element = list.scroller.current;
    if (element) middle.current = (element.scrollLeft + room / 2) / scale.width;
    setZoom(Math.max(MIN_PX_PER_S, Math.min(MAX_PX_PER_S, perSecond * factor)));
  }
  useLayoutEffect(() => {
    const element = list.scroller.current;
    if (!element || middle.current === null) return;
    element.scrollLeft = middle.current * scale.width - room / 2;
    middle.current = null;
  }, [zoom]);
  useEffect(() => {
    const at = rows.findIndex((row) => "lane" in row && row.lane.peek().key === selection.worker);
    if (at < 0) return;
    list.setActive(at);
    list.show(at);
    const start = millis(view.step(selection.worker)?.attempts[1]?.started_at);
    const element = list.scroller.current;
    if (zoom !== null && start !== null && element) element.scrollLeft = scale.x(start) - room / 4;
  }, [selection.worker, selection.problemsFirst, rows.length > 0]);

  return (
    <section class="panel timeline" aria-labelledby="timeline-title">
      <div class="panel-head">
        <h2 id="timeline-title">Timeline</h2>
        <Legend />
        <div class="buttons">
          <Button small pressed={selection.problemsFirst} onClick={toggleProblemsFirst}>
            Problems first
          </Button>
          <Button small pressed={zoom === null} onClick={() => setZoom(null)}>Fit</Button>
          <Button small label="Zoom out" onClick={() => zoomBy(0.5)}>−</Button>
          <Button small label="Zoom in" onClick={() => zoomBy(2)}>+</Button>
        </div>
      </div>
      <div
        ref={list.scroller}
        class="rows lanes"
        role="grid"
        aria-label="Workers and their attempts over time"
        aria-rowcount={rows.length}
        aria-colcount={2}
        tabIndex={0}
        aria-activedescendant={list.isActiveDrawn ? `lane-row-${list.active}` : undefined}
        style={{ "--content": `${AXIS + rows.length * ROW + SCROLL_BAR}px` }}
        onScroll={list.onScroll}
        onKeyDown={list.onKey}
      >
        <div
          class="rows-inside"
          role="rowgroup"
          style={{
            width: `${labels + scale.width + END_MARGIN}px`,
            height: `${AXIS + rows.length * ROW}px`,
          }}
        >
          <Axis scale={scale} cornerRef={corner} />
          {rows.slice(list.first, list.end).map((row, offset) => {
            const index = list.first + offset;
            const top = `${AXIS + index * ROW}px`;
            return "order" in row
              ? <Separator key={row.order.key} order={row.order} index={index} top={top} />
              : (
                <LaneRow
                  key={row.lane.peek().key}
                  lane={row.lane}
                  index={index}
                  top={top}
                  scale={scale}
                  to={to}
                  selected={row.lane.peek().key === selection.worker}
                  active={index === list.active}
                />
              );
          })}
        </div>
      </div>
      {rows.length === 0 && <p class="muted panel-note">No work has started.</p>}
    </section>
  );
}

/** The end of the axis: the present while an attempt runs, so that the axis grows with the clock, not at each event. */
function endOf({ run: { value: run }, active, last, lastAt }: RunView): number {
  if (isOver(run.status)) return millis(run.finished_at) ?? lastAt;
  return active.value ? Math.max(Date.parse(last.peek()), now.value) : lastAt;
}

/** The lanes in the order of the log, with a separator for each order; or problems first, without separators. */
function rowsOf({ lanes, issued }: RunView, problemsFirst: boolean): Row[] {
  if (problemsFirst) {
    return [...lanes.value]
      .sort((one, other) => urgencyOf(one.value) - urgencyOf(other.value))
      .map((lane) => ({ lane }));
  }
  const orders = [...issued.value];
  return lanes.value.flatMap((lane) => {
    const begun = orders.filter(({ seq }) => seq <= lane.peek().seq);
    return [...orders.splice(0, begun.length).map((order) => ({ order })), { lane }];
  });
}

/** Replaced steps come last. */
function urgencyOf(lane: Lane): number {
  return lane.superseded_by === undefined ? URGENCY[shownStatus(lane)] : Number.MAX_SAFE_INTEGER;
}

function Axis(
  { scale, cornerRef }: { scale: Scale; cornerRef: RefObject<HTMLDivElement | null> },
) {
  return (
    <div class="axis" aria-hidden="true">
      <div class="lane-label" ref={cornerRef}>Time</div>
      <div class="track">
        {scale.folds.map((fold) => (
          <span
            key={fold.from}
            class="fold"
            style={{ left: `${fold.x}px` }}
            title={`Idle for ${duration((fold.to - fold.from) / 1000)}`}
          >
            ⋯
          </span>
        ))}
        {scale.ticks.filter((tick) => tick.x + TICK_WIDTH <= scale.width + END_MARGIN).map((
          tick,
        ) => <span key={tick.at} class="tick" style={{ left: `${tick.x}px` }}>{tick.label}</span>)}
      </div>
    </div>
  );
}

function Separator(
  { order, index, top }: { order: KeyedOrder; index: number; top: string },
) {
  const { key, total, repairs } = order;
  return (
    <div class="lane-row separator" role="row" aria-rowindex={index + 1} style={{ top }}>
      <div class="lane-label" role="rowheader">{key}</div>
      <div class="track" role="gridcell">
        <span class="separator-words">
          {count(total, "subtask")}
          {repairs ? `, repairs ${repairs}` : ""}
        </span>
      </div>
    </div>
  );
}

interface LaneRowProps {
  readonly lane: ReadonlySignal<Lane>;
  readonly index: number;
  readonly top: string;
  readonly scale: Scale;
  readonly to: number;
  readonly selected: boolean;
  readonly active: boolean;
}

/** Drawn again by itself when its step changes. */
function LaneRow({ lane: { value: lane }, index, top, scale, to, selected, active }: LaneRowProps) {
  const { name, rest } = splitLabel(lane);
  const unique = lane.worker !== "work"; // what a model or a flow named
  const replaced = lane.superseded_by ? `, replaced by ${lane.superseded_by}` : "";
  const status = shownStatus(lane);
  const words = `${STATUS_WORDS[status]}${lane.note ? `: ${lane.note}` : ""}${replaced}`;
  return (
    <div
      id={`lane-row-${index}`}
      class={`lane-row${selected ? " selected" : ""}${active ? " active" : ""}${
        lane.superseded_by ? " replaced" : ""
      }`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={selected}
      style={{ top }}
      onClick={() => selectWorker(lane.key)}
    >
      <div class="lane-label" role="rowheader" title={`${lane.key} ${lane.label}: ${words}`}>
        <StatusGlyph status={status} />
        <span
          class={`lane-name${lane.parent ? " child" : ""}${unique ? " unique" : ""}`}
        >
          {name}
        </span>
        {rest && <span class="lane-rest">{rest}</span>}
        <span class="unseen">{words}</span>
      </div>
      <Bars lane={lane} scale={scale} to={to} />
    </div>
  );
}

function Legend() {
  return (
    <p class="legend muted small" aria-hidden="true">
      <span class="legend-bar">
        <i class="mark model" />
      </span>{" "}
      model{" "}
      <span class="legend-bar">
        <i class="mark tool" />
      </span>{" "}
      tool <i class="legend-wait" /> wait before a retry
    </p>
  );
}
