// The fleet: one small shape per step, in the order of the plan. A click selects it.

import { Component } from "preact";
import { useRef } from "preact/hooks";
import type { Lane, Model } from "../state/model.ts";
import { selectWorker } from "../selection.ts";
import { type Shown, shownStatus, STATUS_WORDS } from "../words.ts";

interface FleetProps {
  readonly model: Model;
  /** Increases when a step appears or changes its status: the fleet draws nothing else. */
  readonly statuses: number;
  readonly worker: string;
}

/** Draws again only when a status changes, and then only the shapes whose status changed. */
export class Fleet extends Component<FleetProps> {
  override shouldComponentUpdate(next: FleetProps): boolean {
    return next.statuses !== this.props.statuses || next.worker !== this.props.worker ||
      next.model !== this.props.model;
  }

  override render({ model, worker }: FleetProps) {
    return (
      <Strip
        lanes={model.lanes.filter((lane) => lane.counts || lane.worker === "work" || lane.parent)}
        worker={worker}
      />
    );
  }
}

function Strip({ lanes, worker }: { lanes: Lane[]; worker: string }) {
  const strip = useRef<HTMLDivElement>(null);
  const at = lanes.findIndex((lane) => lane.key === worker);

  function select(index: number): void {
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, index))];
    if (lane) selectWorker(lane.key, { replace: true });
  }

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      Home: -at,
      End: lanes.length,
    };
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    select(at + by);
  }

  return (
    <div
      ref={strip}
      class={`fleet${lanes.length > 300 ? " many" : ""}`}
      role="listbox"
      aria-label="Workers"
      aria-orientation="horizontal"
      tabIndex={0}
      aria-activedescendant={at >= 0 ? `fleet-${worker}` : undefined}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const key = (event.target as HTMLElement).dataset?.key;
        if (key) selectWorker(key);
      }}
    >
      {lanes.map((lane) => (
        <Shape
          key={lane.key}
          name={lane.key}
          label={lane.label}
          status={shownStatus(lane)}
          selected={lane.key === worker}
          replaced={lane.superseded_by}
        />
      ))}
    </div>
  );
}

interface ShapeProps {
  readonly name: string;
  readonly label: string;
  readonly status: Shown;
  readonly selected: boolean;
  /** The step that replaced it. */
  readonly replaced: string | undefined;
}

class Shape extends Component<ShapeProps> {
  override shouldComponentUpdate(next: ShapeProps): boolean {
    return next.status !== this.props.status || next.selected !== this.props.selected ||
      next.replaced !== this.props.replaced;
  }

  override render({ name, label, status, selected, replaced }: ShapeProps) {
    const suffix = replaced ? `, replaced by ${replaced}` : "";
    const words = `${label}: ${STATUS_WORDS[status]}${suffix}`;
    return (
      <span
        id={`fleet-${name}`}
        data-key={name}
        class={`shape s-${status}${replaced ? " replaced" : ""}`}
        role="option"
        aria-selected={selected}
        aria-label={words}
        title={words}
      />
    );
  }
}
