// The fleet: one small shape per assignment, in the order they were planned. A click chooses one.

import { Component } from "preact";
import { useRef } from "preact/hooks";
import { chooseWorker } from "./chosen.ts";
import { STATUS_WORDS } from "./marks.ts";
import type { Lane, Model } from "./model.ts";
import type { AssignmentStatus } from "./view.ts";

interface FleetProps {
  readonly model: Model;
  /** Goes up when an assignment appeared or changed its status: nothing else is drawn here. */
  readonly statuses: number;
  readonly worker: string;
}

/** Drawn again only when a status changed; of its shapes only those whose status changed. */
export class Fleet extends Component<FleetProps> {
  override shouldComponentUpdate(next: FleetProps): boolean {
    return next.statuses !== this.props.statuses || next.worker !== this.props.worker ||
      next.model !== this.props.model;
  }

  override render({ model, worker }: FleetProps) {
    return (
      <Strip
        lanes={model.lanes.filter((lane) => lane.counts || lane.role === "work")}
        worker={worker}
      />
    );
  }
}

function Strip({ lanes, worker }: { lanes: Lane[]; worker: string }) {
  const strip = useRef<HTMLDivElement>(null);
  const at = lanes.findIndex((lane) => lane.key === worker);

  function choose(index: number): void {
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, index))];
    if (lane) chooseWorker(lane.key);
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
    choose(at + by);
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
        if (key) chooseWorker(key);
      }}
    >
      {lanes.map((lane) => (
        <Shape
          key={lane.key}
          name={lane.key}
          label={lane.label}
          status={lane.status}
          chosen={lane.key === worker}
          replaced={lane.superseded_by}
        />
      ))}
    </div>
  );
}

interface ShapeProps {
  readonly name: string;
  readonly label: string;
  readonly status: AssignmentStatus;
  readonly chosen: boolean;
  /** The assignment that replaced it. */
  readonly replaced: string | undefined;
}

class Shape extends Component<ShapeProps> {
  override shouldComponentUpdate(next: ShapeProps): boolean {
    return next.status !== this.props.status || next.chosen !== this.props.chosen ||
      next.replaced !== this.props.replaced;
  }

  override render({ name, label, status, chosen, replaced }: ShapeProps) {
    const again = replaced ? `, replaced by ${replaced}` : "";
    const words = `${label}: ${STATUS_WORDS[status]}${again}`;
    return (
      <span
        id={`fleet-${name}`}
        data-key={name}
        class={`shape s-${status}${replaced ? " replaced" : ""}`}
        role="option"
        aria-selected={chosen}
        aria-label={words}
        title={words}
      />
    );
  }
}
