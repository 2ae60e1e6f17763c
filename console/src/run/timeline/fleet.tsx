// The fleet: one small shape per step, in the order of the plan. A click selects it.

import type { ReadonlySignal } from "@preact/signals";
import { selectWorker } from "../selection.ts";
import type { Lane } from "../state/lanes.ts";
import type { RunView } from "../state/run_view.ts";
import { shownStatus, STATUS_WORDS } from "../words.ts";

export function Fleet({ view, worker }: { view: RunView; worker: string }) {
  const lanes = view.lanes.value.filter((lane) => {
    const { counts, worker, parent } = lane.peek();
    return counts || worker === "work" || parent;
  });
  const keys = lanes.map((lane) => lane.peek().key);
  const at = keys.indexOf(worker);

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      Home: -at,
      End: keys.length,
    };
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const key = keys[Math.max(0, Math.min(keys.length - 1, at + by))];
    if (key) selectWorker(key, { replace: true });
  }

  return (
    <div
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
      {lanes.map((lane, index) => <Shape key={keys[index]} lane={lane} selected={index === at} />)}
    </div>
  );
}

/** Drawn again by itself when its step changes. */
function Shape({ lane, selected }: { lane: ReadonlySignal<Lane>; selected: boolean }) {
  const { key, label, superseded_by: replaced } = lane.value;
  const status = shownStatus(lane.value);
  const words = `${label}: ${STATUS_WORDS[status]}${replaced ? `, replaced by ${replaced}` : ""}`;
  return (
    <span
      id={`fleet-${key}`}
      data-key={key}
      class={`shape s-${status}${replaced ? " replaced" : ""}`}
      role="option"
      aria-selected={selected}
      aria-label={words}
      title={words}
    />
  );
}
