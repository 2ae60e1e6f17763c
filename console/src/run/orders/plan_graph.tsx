// An order as a graph: what each subtask needs.

import { shortened } from "../../formats.ts";
import { markOf } from "../../ui/status.tsx";
import { type Placed, placed } from "./graph.ts";
import type { Lane } from "../state/lanes.ts";
import { workerLink } from "../selection.ts";
import { shownStatus, STATUS_WORDS } from "../words.ts";

const WIDTH = 168;
const HEIGHT = 30;
const [GAP_X, GAP_Y] = [44, 8];
const MAX_LABEL = 22;
const MAX_NODES = 300;

export function PlanGraph({ lanes }: { lanes: readonly Lane[] }) {
  if (lanes.length > MAX_NODES) {
    return <p class="muted small">The graph of {lanes.length} subtasks is too large to draw.</p>;
  }
  const places = placed(lanes);
  const byKey = new Map(places.map((place) => [place.node.key, place]));
  const width = Math.max(...places.map(({ column }) => column + 1)) * (WIDTH + GAP_X) - GAP_X;
  const height = Math.max(...places.map(({ row }) => row + 1)) * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <div class="plan-graph" tabIndex={0} role="group" aria-label="Graph of the order">
      <svg width={width + 2} height={height + 2} viewBox={`-1 -1 ${width + 2} ${height + 2}`}>
        {places.flatMap((place) =>
          place.node.needs.map((key) => byKey.get(key)).filter((need) => need !== undefined)
            .map((need) => (
              <path
                key={`${need.node.key} ${place.node.key}`}
                d={edge(need, place)}
              />
            ))
        )}
        {places.map((place) => <NodeView key={place.node.key} place={place} />)}
      </svg>
    </div>
  );
}

function left({ column }: Placed<Lane>): number {
  return column * (WIDTH + GAP_X);
}

function top({ row }: Placed<Lane>): number {
  return row * (HEIGHT + GAP_Y);
}

function edge(from: Placed<Lane>, to: Placed<Lane>): string {
  const [x1, y1] = [left(from) + WIDTH, top(from) + HEIGHT / 2];
  const [x2, y2] = [left(to), top(to) + HEIGHT / 2];
  const middle = x2 - GAP_X / 2;
  return `M${x1} ${y1}H${middle - GAP_X / 2}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

function NodeView({ place }: { place: Placed<Lane> }) {
  const lane = place.node;
  const status = shownStatus(lane);
  const { glyph, tone } = markOf(status);
  return (
    <a href={workerLink(lane.key)} aria-label={`${lane.label}: ${STATUS_WORDS[status]}`}>
      <title>{`${lane.key} ${lane.label}: ${STATUS_WORDS[status]}`}</title>
      <rect x={left(place)} y={top(place)} width={WIDTH} height={HEIGHT} rx={5} />
      <text x={left(place) + 8} y={top(place) + 20} class={`tone-${tone}`}>{glyph}</text>
      <text x={left(place) + 26} y={top(place) + 20}>{shortened(lane.label, MAX_LABEL)}</text>
    </a>
  );
}
