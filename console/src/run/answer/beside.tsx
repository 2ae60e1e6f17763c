// What is beside an answer, in the words of the command line: what was done, what its claims rest on, the doubts.

import { capitalized, count } from "../../formats.ts";
import type { DoneCall, Doubt, RunDocument } from "../../wire.ts";
import type { Mark } from "./claims.tsx";
import { labelOf } from "../state/labels.ts";
import { eventLink, seqOf } from "../selection.ts";
import { Verdict, VerdictCounts, verdictWord } from "./verdict.tsx";

/** Shown once the run is over; without an answer, only what was done. */
export function Beside({ document }: { document: RunDocument }) {
  const { answer, evidence, sample } = document;
  if (document.finished_at === null) return null;
  return (
    <section class="beside" aria-label="Evidence">
      <Calls document={document} />
      {answer && (
        <>
          {sample && <p>It rests on made-up sample data.</p>}
          {evidence.judged_by !== null
            ? (
              <p>
                Evidence: <VerdictCounts counts={evidence} />. Judged by {evidence.judged_by}.
              </p>
            )
            : !evidence.not_judged && <p>No model judged the answer.</p>}
          {evidence.not_judged && (
            <p dir="auto">
              {count(evidence.not_checked, "claim")} could not be judged: {evidence.not_judged}
            </p>
          )}
          {evidence.doubts.length > 0 && (
            <ul class="list doubts" aria-label="Doubts">
              {evidence.doubts.map((doubt, at) => <DoubtLine key={at} doubt={doubt} at={at} />)}
            </ul>
          )}
        </>
      )}
    </section>
  );
}

function Calls({ document: { calls, failed_calls: failed, done } }: { document: RunDocument }) {
  return (
    <p>
      {calls > 0 ? count(calls, "call") : "No calls"}
      {failed > 0 && `, ${failed.toLocaleString("en")} failed`}.{" "}
      {done.length === 0 && "Nothing was sent, paid or changed."}
      <DoneCalls word="Done" calls={done.filter(({ ok }) => ok)} />
      <DoneCalls word="Failed" calls={done.filter(({ ok }) => !ok)} />
    </p>
  );
}

function DoneCalls({ word, calls }: { word: string; calls: readonly DoneCall[] }) {
  if (calls.length === 0) return null;
  return (
    <>
      {`${word}: `}
      {calls.map(({ tool, args, event_id: event }, at) => {
        const seq = event === null ? null : seqOf(event);
        const label = labelOf(tool, args);
        return (
          <span key={at} dir="auto">
            {at > 0 && "; "}
            {seq === null ? label : <a href={eventLink(seq)}>{label}</a>}
          </span>
        );
      })}
      {". "}
    </>
  );
}

function DoubtLine({ doubt, at }: { doubt: Doubt; at: number }) {
  const { verdict, path, part, why, quote } = doubt;
  return (
    <li id={`doubt-${at + 1}`}>
      <p dir="auto">
        <Verdict verdict={verdict} />: “{path ? `${path} ${part}` : part}”. {why}
      </p>
      {quote && (
        <p dir="auto">
          The evidence says: <q>{quote}</q>
        </p>
      )}
    </li>
  );
}

/** Return a mark for each doubt whose words are in the answer; the mark leads to the doubt in the list. */
export function doubtMarks({ answer, claims, evidence }: RunDocument): Mark[] {
  const byNumber = new Map(claims?.map((claim) => [claim.n, claim]));
  const marks = evidence.doubts.flatMap(({ n, part, verdict, why }, at) => {
    const { start, end, text } = byNumber.get(n) ?? {};
    if (!answer || start == null || end == null) return [];
    const before = [...text!.slice(0, Math.max(0, text!.indexOf(part)))].length;
    const [from, to] = text!.includes(part)
      ? [before, before + [...part].length]
      : [0, end - start];
    const note = (
      <a
        class="doubt"
        href={`#doubt-${at + 1}`}
        title={why}
        aria-label={`${capitalized(verdictWord(verdict))}: ${why}`}
      >
        <Verdict verdict={verdict} />
      </a>
    );
    return [{ start: start + from, end: start + to, verdict, note }];
  });
  return marks.sort((one, other) => one.start - other.start);
}
