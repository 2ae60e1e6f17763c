// The answer: its draft while the model writes it, then the final answer with sources, gaps and earlier answers.

import { useMemo } from "preact/hooks";
import type { CitedSource, Gap, RunDocument } from "../../wire.ts";
import { Markdown } from "../../markdown.tsx";
import { withQuery } from "../../router.ts";
import { Copy } from "../../ui/copy.tsx";
import { JsonView } from "../../ui/json_view.tsx";
import { OuterLink } from "../../ui/outer_link.tsx";
import { StatusMark } from "../../ui/status.tsx";
import { Beside, doubtMarks } from "./beside.tsx";
import { annotation, type Cite, marked } from "./claims.tsx";
import { useFirstItems } from "../../ui/first_items.tsx";
import { eventLink, selection, seqOf, workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { isOver } from "../state/view.ts";
import { FAILURE_WORDS } from "../words.ts";

export function Answer({ store }: { store: RunStore }) {
  const document = store.document.value;
  const over = isOver(store.view.run.value.status);
  const draft = store.draft.value?.text;
  // The view shows the end of the run a moment before the document does.
  const ended = store.view.run.value.answer?.seq ?? 0;
  const final = document !== null &&
    (over ? document.last_seq >= ended : document.answer && !draft);
  return (
    <>
      {final
        ? <FinalAnswer document={document} store={store} />
        : draft
        ? <WrittenDraft text={draft} />
        : (
          <p class="muted">
            {over ? "Loading the answer…" : "No answer yet. It is written when all results are in."}
          </p>
        )}
      {document && <Earlier answers={document.earlier_answers} />}
    </>
  );
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

function FinalAnswer({ document, store }: { document: RunDocument; store: RunStore }) {
  const { answer, sources } = document;
  const [shown, showAll] = useFirstItems(sources, "sources");
  const text = useMemo(() => {
    const marks = doubtMarks(document);
    const annotate = annotation(marks, citing(sources, shown.length));
    return <Markdown text={marked(answer ?? "", marks)} top={2} annotate={annotate} />;
  }, [document, shown.length]);
  return (
    <article class="answer" aria-label="Answer">
      {answer
        ? (
          <>
            <AnswerTools text={withSources(answer, sources)} />
            {text}
          </>
        )
        : <p class="muted">The run ended without an answer.</p>}
      {(document.value ?? null) !== null && (
        <section aria-labelledby="value-title">
          <h3 id="value-title">Value</h3>
          <JsonView value={document.value} label="value" />
        </section>
      )}
      <Beside document={document} />
      {sources.length > 0 && (
        <section aria-labelledby="sources-title">
          <h3 id="sources-title">Sources</h3>
          <ol class="sources">
            {shown.map((source, at) => <SourceLine key={at} source={source} number={at + 1} />)}
          </ol>
          {showAll}
        </section>
      )}
      <Gaps document={document} store={store} />
    </article>
  );
}

/** Return an answer as Markdown with the sources that it cites by their numbers. */
export function withSources(answer: string, sources: readonly CitedSource[]): string {
  const lines = sources.map(({ title, url }, at) =>
    [`${at + 1}.`, title, /^https?:/.test(url) ? `<${url}>` : url].filter(Boolean).join(" ")
  );
  return lines.length > 0 ? `${answer}\n\n## Sources\n\n${lines.join("\n")}` : answer;
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

/** Make the citations of an answer, such as [1] or [2, 3], lead to its sources. */
export function citing(sources: readonly CitedSource[], shown: number): Cite {
  return (names, key) => {
    const cited = names.map((name) => sources[Number(name) - 1]);
    if (cited.includes(undefined)) return null;
    return names.map((number, at) => (
      <a
        key={`${key} ${number}`}
        class="citation"
        title={cited[at]!.title || cited[at]!.url}
        href={Number(number) > shown ? "#sources-title" : `#source-${number}`}
      >
        [{number}]
      </a>
    ));
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

/** What the answer lacks: each cause once, with its next step unless the run as a whole has one. */
export function Gaps({ document, store }: { document: RunDocument; store: RunStore }) {
  const { gaps, outcome, status } = document;
  const causes = Map.groupBy(gaps, (gap) => `${gap.reason}\n${gap.next_action}`);
  const ordered = [...causes.values()].sort((one, other) => other.length - one.length);
  const [shown, showAll] = useFirstItems(ordered, "causes");
  if (gaps.length === 0) return null;
  const advised = status === "cancelled" || outcome.actions[0]?.primary === true;
  return (
    <section aria-labelledby="gaps-title">
      <h3 id="gaps-title">
        {status === "cancelled" ? "Not finished" : "Missing"} ({gaps.length.toLocaleString("en")})
      </h3>
      <ul class="list gaps">
        {shown.map((parts, at) => (
          <CauseLine key={at} parts={parts} store={store} advised={advised} />
        ))}
      </ul>
      {showAll}
    </section>
  );
}

interface CauseProps {
  /** The parts that are missing because of it. */
  readonly parts: readonly Gap[];
  readonly store: RunStore;
  readonly advised: boolean;
}

function CauseLine({ parts, store, advised }: CauseProps) {
  const [{ reason, next_action: next, class: kind }] = parts as readonly [Gap];
  const [shown, showAll] = useFirstItems(parts, "parts");
  return (
    <li>
      <p>
        <span aria-hidden="true" class="tone-asks">◑</span>{" "}
        {parts.length > 1 && <strong>{parts.length.toLocaleString("en")} ×</strong>}{" "}
        <span dir="auto">{reason}</span> <FailureBadge name={kind} />
      </p>
      {next && !advised && <p class="muted">Next step: {next}</p>}
      <p class="small" dir="auto">
        {shown.map((gap, at) => {
          const key = `${gap.work_order_id}.${gap.subtask_index}`;
          const label = store.view.step(key)?.label; // with its arguments: many may share a name
          return (
            <span key={at}>
              {at > 0 && ", "}
              {label ? <a href={workerLink(key)}>{label}</a> : <strong>{gap.name}</strong>}
            </span>
          );
        })}
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
