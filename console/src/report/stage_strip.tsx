// The stages of a report above its timeline: where the run is, and what it has done.

import { workerLink } from "../run/selection.ts";
import type { RunStore } from "../run/state/store.ts";
import { isOver } from "../run/state/view.ts";
import { StatusGlyph } from "../ui/status.tsx";
import { stepsOf } from "./strip.ts";

export function StageStrip({ store }: { store: RunStore }) {
  const task = store.document.value?.task;
  if (!task) return null;
  const { status } = store.view.run.value;
  const steps = stepsOf(store.view.steps.value, task.stages, isOver(status) ? status : null);
  return (
    <ol class="stage-strip" aria-label="Stages">
      {steps.map(({ label, status, progress, key }, at) => (
        <li key={`${at} ${label}`} class={`step ${status}`}>
          <StatusGlyph status={status} />
          {key === null ? <span>{label}</span> : <a href={workerLink(key)}>{label}</a>}
          <span class="unseen">{status === "dropped" ? "skipped" : status}</span>
          {progress && <span class="muted small">{progress}</span>}
        </li>
      ))}
    </ol>
  );
}
