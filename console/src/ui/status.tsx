// The states of runs, steps, calls and todos as a glyph and a word; the color only repeats them.

import { capitalized } from "../formats.ts";
import type { Effect, RunStatus } from "../wire.ts";

type Tone = "idle" | "busy" | "asks" | "good" | "bad";

type Mark = readonly [glyph: string, tone: Tone];

/** Glyph and tone of every state of a run, and of the states of steps, calls and todos. Tones are colors of parts.css. */
const MARKS: { readonly [status in RunStatus]: Mark } & { readonly [status: string]: Mark } = {
  queued: ["○", "idle"],
  pending: ["○", "idle"],
  running: ["◐", "busy"],
  in_progress: ["◐", "busy"],
  waiting: ["‖", "asks"],
  retrying: ["↻", "asks"],
  paused: ["‖", "idle"],
  succeeded: ["✓", "good"],
  completed: ["✓", "good"],
  partial: ["◑", "asks"],
  failed: ["▲", "bad"],
  cancelled: ["×", "idle"],
  dropped: ["×", "idle"],
};

/** Return the glyph and the tone of a state; an unknown state is an idle dot. */
export function markOf(status: string): { readonly glyph: string; readonly tone: Tone } {
  const [glyph, tone] = MARKS[status] ?? ["·", "idle" as Tone];
  return { glyph, tone };
}

/** A state as glyph and word. `word` replaces the word, never the glyph. */
export function StatusMark({ status, word }: { status: string; word?: string }) {
  return (
    <span class={`status tone-${markOf(status).tone}`}>
      <StatusGlyph status={status} /> {word ?? capitalized(status)}
    </span>
  );
}

/** The glyph of a state, where its word is elsewhere. */
export function StatusGlyph({ status }: { status: string }) {
  const { glyph, tone } = markOf(status);
  return <span class={`glyph tone-${tone}`} aria-hidden="true">{glyph}</span>;
}

const EFFECTS: { readonly [effect in Effect]: string } = {
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
