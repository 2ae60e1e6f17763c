// An order as a graph: each subtask is right of what it needs.

import { shortened } from "../../formats.ts";
import { markOf } from "../../ui/status.tsx";
import { workerLink } from "../selection.ts";
import type { Lane } from "../state/lanes.ts";
import { shownStatus, STATUS_WORDS } from "../words.ts";

const [WIDTH, HEIGHT] = [168, 30];
const [STEP_X, STEP_Y] = [WIDTH + 44, HEIGHT + 8];
const MAX_LABEL = 22;
const MAX_NODES = 300;

interface Place {
  readonly lane: Lane;
  readonly x: number;
  readonly y: number;
}

export function PlanGraph({ lanes }: { lanes: readonly Lane[] }) {
  if (lanes.length > MAX_NODES) {
    return <p class="muted small">The graph of {lanes.length} subtasks is too large to draw.</p>;
  }
  const places = placed(lanes);
  const width = Math.max(...[...places.values()].map(({ x }) => x)) + WIDTH;
  const height = Math.max(...[...places.values()].map(({ y }) => y)) + HEIGHT;
  return (
    <div class="plan-graph" tabIndex={0} role="group" aria-label="Graph of the order">
      <svg width={width + 2} height={height + 2} viewBox={`-1 -1 ${width + 2} ${height + 2}`}>
        {[...places.values()].flatMap((to) =>
          to.lane.needs.map((key) => places.get(key)).filter((from) => from !== undefined)
            .map((from) => (
              <path
                key={`${from.lane.key} ${to.lane.key}`}
                d={`M${from.x + WIDTH} ${from.y + HEIGHT / 2}L${to.x} ${to.y + HEIGHT / 2}`}
              />
            ))
        )}
        {[...places.values()].map((place) => <Node key={place.lane.key} {...place} />)}
      </svg>
    </div>
  );
}

/** Return the place of each subtask by its key: the column after those of all that it needs. */
function placed(lanes: readonly Lane[]): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  let left = [...lanes];
  for (let column = 0; left.length > 0; column += 1) {
    const waits = (lane: Lane) =>
      left.some(({ key }) => key !== lane.key && lane.needs.includes(key));
    const free = left.filter((lane) => !waits(lane));
    const here = free.length > 0 ? free : left; // no order has a cycle, which would not end
    here.forEach((lane, row) =>
      places.set(lane.key, { lane, x: column * STEP_X, y: row * STEP_Y })
    );
    left = left.filter((lane) => !places.has(lane.key));
  }
  return places;
}

function Node({ lane, x, y }: Place) {
  const status = shownStatus(lane);
  const { glyph, tone } = markOf(status);
  return (
    <a href={workerLink(lane.key)} aria-label={`${lane.label}: ${STATUS_WORDS[status]}`}>
      <title>{`${lane.key} ${lane.label}: ${STATUS_WORDS[status]}`}</title>
      <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx={5} />
      <text x={x + 8} y={y + 20} class={`tone-${tone}`}>{glyph}</text>
      <text x={x + 26} y={y + 20}>{shortened(lane.label, MAX_LABEL)}</text>
    </a>
  );
}
