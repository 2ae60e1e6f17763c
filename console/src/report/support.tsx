// The marks of sentences: supported, not supported, or own reasoning. The color only repeats the glyph.

import { count } from "../formats.ts";
import type { Statement, Support } from "./task.ts";

const SUPPORT: {
  readonly [support in Support]: readonly [glyph: string, tone: string, words: string];
} = {
  supported: ["✓", "good", "Supported"],
  unsupported: ["▲", "bad", "Not supported"],
  own_reasoning: ["○", "idle", "Own reasoning"],
};
const MEANING: { readonly [support in Support]: string } = {
  supported: "the cited passages hold it",
  unsupported: "no cited passage holds it",
  own_reasoning: "it cites nothing",
};

export function supportWords(support: Support): string {
  return SUPPORT[support][2];
}

export function SupportGlyph({ support }: { support: Support }) {
  const [glyph, tone, words] = SUPPORT[support];
  return (
    <span class={`support tone-${tone}`} role="img" aria-label={words} title={words}>{glyph}</span>
  );
}

export function SupportLegend({ statements }: { statements: readonly Statement[] }) {
  const counts = Map.groupBy(statements, ({ status }) => status);
  return (
    <ul class="support-legend small" aria-label="Support of the sentences">
      {(Object.keys(SUPPORT) as Support[]).map((support) => {
        const [glyph, tone, words] = SUPPORT[support];
        return (
          <li key={support}>
            <span class={`tone-${tone}`} aria-hidden="true">{glyph}</span> <strong>{words}</strong>
            {" "}
            <span class="muted">
              {MEANING[support]}; {count(counts.get(support)?.length ?? 0, "sentence")}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
