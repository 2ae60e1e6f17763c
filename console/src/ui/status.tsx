// The states of runs, assignments and attempts: a glyph and a word; the color only repeats them.

import { capitalized } from "../formats.ts";
import type { Effect, RunStatus } from "../wire.ts";

/** The states of runs. */
export const STATUSES: readonly RunStatus[] = [
  "queued",
  "running",
  "waiting",
  "paused",
  "succeeded",
  "partial",
  "failed",
  "cancelled",
];

/** Glyph, tone and word of every state that is shown anywhere. Tones are colours of style.css. */
const MARKS: { readonly [status: string]: readonly [glyph: string, tone: Tone] } = {
  queued: ["○", "idle"],
  pending: ["○", "idle"],
  running: ["◐", "busy"],
  waiting: ["‖", "asks"],
  paused: ["‖", "idle"],
  parked: ["‖", "idle"],
  blocked: ["⊘", "idle"],
  succeeded: ["✓", "good"],
  completed: ["✓", "good"],
  partial: ["◑", "asks"],
  failed: ["▲", "bad"],
  lost: ["▲", "bad"],
  cancelled: ["×", "idle"],
  dropped: ["×", "idle"],
};

export type Tone = "idle" | "busy" | "asks" | "good" | "bad";

/** Return how a state is drawn; an unknown state is an idle dot. */
export function markOf(status: string): { readonly glyph: string; readonly tone: Tone } {
  const [glyph, tone] = MARKS[status] ?? ["·", "idle" as Tone];
  return { glyph, tone };
}

/** A state as glyph and word. `word` replaces the word, never the glyph. */
export function StatusMark({ status, word }: { status: string; word?: string }) {
  const { glyph, tone } = markOf(status);
  return (
    <span class={`status tone-${tone}`}>
      <span aria-hidden="true" class="glyph">{glyph}</span> {word ?? capitalized(status)}
    </span>
  );
}

export const EFFECTS: { readonly [effect in Effect]: string } = {
  pure: "reads only",
  idempotent: "safe to repeat",
  once: "irreversible",
};

/** A tool's effect: its name, and what that means. */
export function EffectMark({ effect, explained = true }: { effect: Effect; explained?: boolean }) {
  const tone: Tone = effect === "once" ? "asks" : "idle";
  const glyph = effect === "once" ? "◆" : effect === "idempotent" ? "◇" : "○";
  return (
    <span class="effect">
      <span class={`status tone-${tone}`}>
        <span aria-hidden="true" class="glyph">{glyph}</span> {effect}
      </span>
      {explained && <span class="muted">: {EFFECTS[effect]}</span>}
    </span>
  );
}
