// The answer: its draft while the model writes it, then the final answer with sources, gaps and earlier answers.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { CitedSource, Gap, RunDocument } from "../wire.ts";
import { type Annotate, AS_IT_IS, Markdown } from "../markdown.tsx";
import { withQuery } from "../router.ts";
import { Copy } from "../ui/copy.tsx";
import { JsonView } from "../ui/json_view.tsx";
import { OuterLink } from "../ui/outer_link.tsx";
import { StatusMark } from "../ui/status.tsx";
import { useFirstItems } from "./first_items.tsx";
import { type Cause, causesOf, missingIn } from "./gaps.ts";
import { eventLink, selection, seqOf, workerLink } from "./selection.ts";
import type { RunStore } from "./store.ts";
import { isOver } from "./view.ts";
import { FAILURE_WORDS } from "./words.ts";

export function Answer({ store }: { store: RunStore }) {
  const document = store.document.value;
  const { status } = store.live.view.run;
  const over = isOver(status);
  const answer = document?.answer ?? null;
  if (answer && document && (over || store.draft.value === null)) {
    return (
      <>
        <FinalAnswer text={answer} document={document} store={store} />
        <Earlier answers={document.earlier_answers} />
      </>
    );
  }
  // The view shows the end of the run a moment before the document does.
  const ended = store.live.lastAnswer?.seq ?? 0;
  const loaded = document !== null && document.last_seq >= ended;
  return (
    <>
      <Draft store={store} ended={over && loaded} loading={over && !loaded} />
      {document && <Earlier answers={document.earlier_answers} />}
    </>
  );
}

interface DraftProps {
  readonly store: RunStore;
  /** The run is over, without an answer. */
  readonly ended: boolean;
  /** The run is over, and its answer is being fetched. */
  readonly loading: boolean;
}

function Draft({ store, ended, loading }: DraftProps) {
  const draft = store.draft.value;
  if (ended) return <p class="muted">The run ended without an answer.</p>;
  if (!draft?.text) {
    return (
      <p class="muted">
        {loading ? "Loading the answer…" : "No answer yet. It is written when all results are in."}
      </p>
    );
  }
  return <WrittenDraft text={draft.text} />;
}

/** A text while a model writes it. */
export function WrittenDraft({ text }: { text: string }) {
  return (
    <section class="draft" aria-label="Draft of the answer">
      <p class="draft-mark">
        <span aria-hidden="true">✎</span> Draft: the answer is being written
      </p>
      <Markdown text={text} top={2} />
      <Paragraphs text={text} />
    </section>
  );
}

/** The draft for screen readers: each paragraph once it is whole, instead of each word. */
function Paragraphs({ text }: { text: string }) {
  const paragraphs = text.split(/\n{2,}/).slice(0, -1);
  return (
    <div class="unseen" aria-live="polite">
      {paragraphs.map((paragraph, index) => <p key={index}>{paragraph}</p>)}
    </div>
  );
}

function FinalAnswer(
  { text, document, store }: { text: string; document: RunDocument; store: RunStore },
) {
  const { sources, gaps } = document;
  const [shown, showAll] = useFirstItems(sources, "sources");
  const annotate = useMemo(() => citing(sources, shown.length), [sources, shown.length]);
  return (
    <article class="answer" aria-label="Answer">
      <AnswerTools text={text} />
      <Markdown text={text} top={2} annotate={annotate} />
      {(document.value ?? null) !== null && <TypedAnswer value={document.value} />}
      {sources.length > 0 && (
        <section aria-labelledby="sources-title">
          <h3 id="sources-title">Sources</h3>
          <ol class="sources">
            {shown.map((source, at) => <SourceLine key={at} source={source} number={at + 1} />)}
          </ol>
          {showAll}
        </section>
      )}
      {gaps.length > 0 && <Gaps gaps={gaps} store={store} />}
    </article>
  );
}

/** The answer as data, of a run with an output schema. */
function TypedAnswer({ value }: { value: unknown }) {
  return (
    <section aria-labelledby="value-title">
      <h3 id="value-title">Value</h3>
      <JsonView value={value} label="value" />
    </section>
  );
}

/** Copy the answer, or read it without the rest of the run. */
export function AnswerTools({ text }: { text: string }) {
  return (
    <p class="answer-tools">
      <Copy text={text} what="answer as Markdown">Copy answer</Copy>
      {!selection.value.reading && (
        <a class="button quiet small" href={withQuery({ read: 1 })}>Reading view</a>
      )}
    </p>
  );
}

const CITATION = /\[\d+(?:\s*[,;]\s*\d+)*\]/g;

/** Make the citations of an answer, such as [1] or [2, 3], lead to its sources. */
export function citing(sources: readonly CitedSource[], shown: number): Annotate {
  const link = (number: number, key: string) => (
    <a
      key={key}
      class="citation"
      title={sources[number - 1]!.title || sources[number - 1]!.url}
      href={number > shown ? "#sources-title" : `#source-${number}`}
    >
      [{number}]
    </a>
  );
  return {
    ...AS_IT_IS,
    text(text) {
      const parts: ComponentChildren[] = [];
      let at = 0;
      for (const found of text.matchAll(CITATION)) {
        const numbers = found[0].match(/\d+/g)!.map(Number);
        if (!numbers.every((number) => number > 0 && number <= sources.length)) continue;
        parts.push(text.slice(at, found.index));
        parts.push(...numbers.map((number) => link(number, `${found.index} ${number}`)));
        at = found.index + found[0].length;
      }
      return [...parts, text.slice(at)];
    },
  };
}

function SourceLine({ source, number }: { source: CitedSource; number: number }) {
  const seq = seqOf(source.event_id);
  return (
    <li id={`source-${number}`} dir="auto">
      <OuterLink href={source.url}>{source.title || source.url}</OuterLink>
      {seq !== null && (
        <>
          {" · "}
          <a class="evidence" href={eventLink(seq)} title="Show what the tool returned">
            event {seq}
          </a>
        </>
      )}
    </li>
  );
}

export function Gaps({ gaps, store }: { gaps: readonly Gap[]; store: RunStore }) {
  const [shown, showAll] = useFirstItems(causesOf(missingIn(gaps, store.live)), "causes");
  const cancelled = store.status === "cancelled";
  return (
    <section aria-labelledby="gaps-title">
      <h3 id="gaps-title">
        {cancelled ? "Not finished" : "Missing"} ({gaps.length.toLocaleString("en")})
      </h3>
      <ul class="list gaps">
        {shown.map((cause, at) => <CauseLine key={at} cause={cause} cancelled={cancelled} />)}
      </ul>
      {showAll}
    </section>
  );
}

function CauseLine({ cause, cancelled }: { cause: Cause; cancelled: boolean }) {
  const { parts, reason, next } = cause;
  const [shown, showAll] = useFirstItems(parts, "parts");
  return (
    <li>
      <p>
        <span aria-hidden="true" class="tone-asks">◑</span>{" "}
        {parts.length > 1 && <strong>{parts.length.toLocaleString("en")} ×</strong>}{" "}
        <span dir="auto">{reason}</span>
        {!cause.same && <span class="muted">, and the like</span>}
        {!cancelled && <FailureBadge name={cause.class} />}
      </p>
      {next && !cancelled && <p class="muted">Next step: {next}</p>}
      <p class="small" dir="auto">
        {shown.map(({ key, name }, at) => (
          <span key={at}>
            {at > 0 && ", "}
            {key ? <a href={workerLink(key)}>{name}</a> : <strong>{name}</strong>}
          </span>
        ))}
      </p>
      {showAll}
    </li>
  );
}

/** The class of a failure in words. */
export function FailureBadge({ name }: { name: string }) {
  return <span class="badge" title={name}>{FAILURE_WORDS[name] ?? name}</span>;
}

export function Earlier({ answers }: { answers: RunDocument["earlier_answers"] }) {
  if (answers.length === 0) return null;
  return (
    <section aria-labelledby="earlier-title">
      <h3 id="earlier-title">Earlier answers</h3>
      {answers.toReversed().map((each) => (
        <details key={each.number} class="earlier">
          <summary>
            Answer {each.number} <StatusMark status={each.status} />
          </summary>
          {each.answer !== null && <Markdown text={each.answer} />}
        </details>
      ))}
    </section>
  );
}
