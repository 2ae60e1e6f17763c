// The verdicts on claims as a sign and a word, as on the command line and in exports; the color only repeats them.

import { capitalized } from "../../formats.ts";
import type { ClaimVerdict } from "../../wire.ts";

const VERDICTS: {
  readonly [verdict in ClaimVerdict]: readonly [sign: string, tone: string, word: string];
} = {
  confirmed: ["✓", "good", "confirmed"],
  derived: ["≈", "good", "derived"],
  own_words: ["○", "idle", "own words"],
  unconfirmed: ["?", "asks", "not confirmed"],
  contradicted: ["✗", "bad", "contradicted"],
  not_checked: ["·", "idle", "not checked"],
};
const ALL = Object.keys(VERDICTS) as ClaimVerdict[];

export function isDoubted(verdict: ClaimVerdict): boolean {
  return verdict === "unconfirmed" || verdict === "contradicted";
}

export function verdictWord(verdict: ClaimVerdict): string {
  return VERDICTS[verdict][2];
}

/** A verdict as its sign alone. */
export function VerdictSign({ verdict }: { verdict: ClaimVerdict }) {
  const [sign, tone, word] = VERDICTS[verdict];
  const name = capitalized(word);
  return <span class={`sign tone-${tone}`} role="img" aria-label={name} title={name}>{sign}</span>;
}

/** A verdict as its sign and its word. */
export function Verdict({ verdict }: { verdict: ClaimVerdict }) {
  const [sign, tone, word] = VERDICTS[verdict];
  return (
    <span class={`verdict tone-${tone}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

/** How many claims have each verdict: "✓ 5 confirmed, ○ 1 own words". */
export function VerdictCounts({ counts }: { counts: { [verdict in ClaimVerdict]?: number } }) {
  const given = ALL.filter((verdict) => counts[verdict]);
  if (given.length === 0) return <>no claims</>;
  return (
    <>
      {given.map((verdict, at) => {
        const [sign, tone, word] = VERDICTS[verdict];
        return (
          <span key={verdict}>
            {at > 0 && ", "}
            <span class={`tone-${tone}`} aria-hidden="true">{sign}</span>{" "}
            {counts[verdict]!.toLocaleString("en")} {word}
          </span>
        );
      })}
    </>
  );
}
