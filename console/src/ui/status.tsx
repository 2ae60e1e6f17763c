// The states of runs, subtasks and attempts: a glyph and a word; the colour only repeats what they say.

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

/** How a state is drawn; an unknown one as an idle dot. */
export function markOf(status: string): { readonly glyph: string; readonly tone: Tone } {
  const [glyph, tone] = MARKS[status] ?? ["·", "idle" as Tone];
  return { glyph, tone };
}

/** A state as glyph and word. `word` replaces the word, never the glyph. */
export function StatusMark({ status, word }: { status: string; word?: string }) {
  const { glyph, tone } = markOf(status);
  return (
    <span class={`status tone-${tone}`}>
      <span aria-hidden="true" class="glyph">{glyph}</span> {word ?? status}
    </span>
  );
}

export const EFFECTS: { readonly [effect in Effect]: string } = {
  pure: "it only reads",
  idempotent: "calling it twice does no more than once",
  once: "it does something that cannot be taken back",
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
