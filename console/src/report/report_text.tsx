// A draft with the verdict on each claim; a click on a citation or on a doubt shows the passages beside the text.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { capitalized } from "../formats.ts";
import { Markdown } from "../markdown.tsx";
import { annotation, citedIn, type Mark, marked } from "../run/answer/claims.tsx";
import {
  isDoubted,
  Verdict,
  VerdictCounts,
  VerdictSign,
  verdictWord,
} from "../run/answer/verdict.tsx";
import { Button } from "../ui/button.tsx";
import { OuterLink } from "../ui/outer_link.tsx";
import type {
  CitedPassage as Passage,
  Claim,
  ReportDraft as Draft,
  Task as ReportTask,
} from "../wire.ts";

/** What is shown beside the text: a doubted claim, and passages. */
interface Shown {
  readonly claim: Claim | null;
  readonly passages: readonly Passage[];
}

type Show = (button: HTMLElement, shown: Shown) => void;

export function ReportText({ draft, task }: { draft: Draft; task: ReportTask }) {
  const [shown, setShown] = useState<Shown | null>(null);
  const opener = useRef<HTMLElement | null>(null);
  const content = useMemo(() => {
    const { text } = draft;
    const named = new Map(Object.values(task.passages).map((each) => [each.name, each]));
    const numbers = sourceNumbers(text, named);
    const marks = claimMarks(draft.claims, task, show);
    const body = <Markdown text={marked(text, marks)} top={2} annotate={annotation(marks, cite)} />;
    return { numbers, body };

    function show(button: HTMLElement, next: Shown): void {
      opener.current = button;
      setShown(next);
    }
    function cite(names: readonly string[], key: string) {
      const passages = names.map((name) => named.get(name)).filter((each) => each !== undefined);
      if (passages.length === 0) return null; // invented: the verdict of the claim says so
      return [...Map.groupBy(passages, ({ id }) => numbers.get(id))].map(([number, of]) => (
        <button
          key={`${key} ${number}`}
          type="button"
          class="citation"
          title={of[0]!.title || of[0]!.url}
          aria-label={`Source ${number}: ${of[0]!.title || of[0]!.url}`}
          onClick={(event) => show(event.currentTarget, { claim: null, passages: of })}
        >
          [{number}]
        </button>
      ));
    }
  }, [draft, task]);
  const counts = Map.groupBy(draft.claims, ({ verdict }) => verdict);
  return (
    <div class={`report-text${shown ? " with-passages" : ""}`}>
      <p class="small muted">
        Claims:{" "}
        <VerdictCounts
          counts={Object.fromEntries([...counts].map(([verdict, of]) => [verdict, of.length]))}
        />
      </p>
      {content.body}
      {shown && (
        <Passages
          shown={shown}
          doubts={draft.doubts}
          numbers={content.numbers}
          onClose={() => {
            setShown(null);
            opener.current?.focus();
          }}
        />
      )}
      <Sources numbers={content.numbers} passages={task.passages} />
    </div>
  );
}

/** Return the number of the source of each passage that a draft cites, by id: the first source is 1. */
export function sourceNumbers(
  draft: string,
  named: ReadonlyMap<string, Passage>,
): ReadonlyMap<string, number> {
  const sources = new Map<string, number>();
  const numbers = new Map<string, number>();
  for (const passage of citedIn(draft).map((name) => named.get(name))) {
    if (passage === undefined) continue;
    const source = `${passage.title}\n${passage.url}`;
    if (!sources.has(source)) sources.set(source, sources.size + 1);
    numbers.set(passage.id, sources.get(source)!);
  }
  return numbers;
}

/** Return a mark for each claim that is in the draft; the mark of a doubted claim is a button. */
function claimMarks(claims: readonly Claim[], task: ReportTask, show: Show): Mark[] {
  return claims.flatMap((claim) => {
    const { start, end, verdict, cites = [] } = claim;
    if (start == null || end == null) return [];
    const passages = cites.map((id) => task.passages[id]).filter((each) => each !== undefined);
    const note = isDoubted(verdict)
      ? (
        <button
          type="button"
          class="citation doubt"
          aria-label={`${capitalized(verdictWord(verdict))}. Show why`}
          onClick={(event) => show(event.currentTarget, { claim, passages })}
        >
          <Verdict verdict={verdict} />
        </button>
      )
      : <VerdictSign verdict={verdict} />;
    return [{ start, end, verdict, note }];
  });
}

interface PassagesProps {
  readonly shown: Shown;
  readonly doubts: Draft["doubts"];
  readonly numbers: ReadonlyMap<string, number>;
  readonly onClose: () => void;
}

function Passages({ shown: { claim, passages }, doubts, numbers, onClose }: PassagesProps) {
  const aside = useRef<HTMLElement>(null);
  useEffect(() => aside.current?.focus({ preventScroll: true }), [claim, passages]);
  return (
    <aside
      ref={aside}
      class="passages"
      aria-label="Cited passages"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="passages-head">
        {claim && <Verdict verdict={claim.verdict} />}
        <Button small kind="quiet" label="Close the passages" onClick={onClose}>Close</Button>
      </div>
      {doubts.filter(({ n }) => n === claim?.n).map(({ why }, at) => (
        <p key={at} class="small" dir="auto">{why}</p>
      ))}
      {passages.length === 0 && <p class="muted small">The claim cites no stored passage.</p>}
      {passages.map((passage) => (
        <figure key={passage.id}>
          <blockquote dir="auto">{passage.text}</blockquote>
          <figcaption class="small">
            [{numbers.get(passage.id) ?? "–"}] <SourceLink passage={passage} />
            {passage.published && <span class="muted">, {passage.published}</span>}
          </figcaption>
        </figure>
      ))}
    </aside>
  );
}

function SourceLink({ passage: { title, url, link } }: { passage: Passage }) {
  return url
    ? <OuterLink href={link || url}>{title || url}</OuterLink>
    : <>{title || "Untitled source"}</>;
}

interface SourcesProps {
  readonly numbers: ReadonlyMap<string, number>;
  readonly passages: ReportTask["passages"];
}

/** The sources that the text cites, by number. */
function Sources({ numbers, passages }: SourcesProps) {
  const first = new Map([...numbers].toReversed().map(([id, number]) => [number, passages[id]!]));
  if (first.size === 0) return null;
  return (
    <section aria-labelledby="report-sources">
      <h3 id="report-sources">Sources</h3>
      <ol class="sources">
        {[...first].sort(([one], [other]) => one - other).map(([number, passage]) => (
          <li key={number} value={number}>
            <SourceLink passage={{ ...passage, link: passage.url }} />
          </li>
        ))}
      </ol>
    </section>
  );
}
