// The Revisions tab: what each revision changed, side by side, and every review with its findings.

import { workerLink } from "../run/selection.ts";
import type { RunStore } from "../run/state/store.ts";
import { VerdictSign } from "../run/answer/verdict.tsx";
import { StatusGlyph } from "../ui/status.tsx";
import { Changes } from "./changes.tsx";
import type { ReportDraft as Draft, ReportFinding as Finding } from "../wire.ts";

export function Revisions({ store }: { store: RunStore }) {
  const drafts = store.document.value?.task?.drafts ?? [];
  if (drafts.length === 0) return <p class="muted">No draft yet.</p>;
  return (
    <div class="revisions">
      {drafts.toReversed().map((draft) => {
        const before = drafts.find(({ number }) => number === draft.number - 1);
        return (
          <section key={draft.key} class="revision" aria-labelledby={`revision-${draft.number}`}>
            <h3 id={`revision-${draft.number}`}>
              <a href={workerLink(draft.key)}>
                {before ? `Revision: draft ${draft.number}` : `Draft ${draft.number}`}
              </a>
            </h3>
            <DraftReviews draft={draft} />
            {before && (
              <Changes
                names={[`draft ${before.number}`, `draft ${draft.number}`]}
                before={before.text}
                after={draft.text}
              />
            )}
          </section>
        );
      })}
    </div>
  );
}

const VERDICTS = {
  APPROVED: ["completed", "Approved"],
  NEEDS_REVISION: ["retrying", "Needs revision"],
};

function DraftReviews({ draft }: { draft: Draft }) {
  const [glyph, words] = draft.verdict === null
    ? ["pending", "No verdict"]
    : VERDICTS[draft.verdict];
  return (
    <div class="draft-reviews">
      <p>
        Verdict: <StatusGlyph status={glyph!} /> <strong>{words}</strong>
      </p>
      {draft.findings.length > 0 && (
        <ol class="findings">
          {draft.findings.map((finding, at) => (
            <FindingLine key={at} finding={finding} draft={draft} />
          ))}
        </ol>
      )}
    </div>
  );
}

/** A finding with the claim that it is about. */
function FindingLine({ finding: { by, claim, text, problem }, draft }: FindingProps) {
  const about = draft.claims.find(({ n }) => n === claim);
  const quoted = text ?? about?.text;
  return (
    <li>
      <p dir="auto">
        {problem} <span class="badge">{by}</span>
      </p>
      {quoted && (
        <blockquote class="small" dir="auto">
          {about && <VerdictSign verdict={about.verdict} />} {quoted}
        </blockquote>
      )}
    </li>
  );
}

interface FindingProps {
  readonly finding: Finding;
  readonly draft: Draft;
}
