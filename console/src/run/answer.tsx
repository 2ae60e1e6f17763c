// The answer: its draft while the model writes it, then the final answer with sources, gaps and earlier answers.

import type { CitedSource, Gap, RunDocument } from "../wire.ts";
import { Markdown } from "../markdown.tsx";
import { OuterLink } from "../ui/outer_link.tsx";
import { StatusMark } from "../ui/status.tsx";
import { useFirstItems } from "./first_items.tsx";
import { eventLink, seqOf, workerLink } from "./selection.ts";
import type { RunStore } from "./store.ts";
import { isOver } from "./view.ts";

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
  return (
    <article class="answer" aria-label="Answer">
      <Markdown text={text} top={2} />
      {document.sources.length > 0 && <Sources sources={document.sources} />}
      {document.gaps.length > 0 && <Gaps gaps={document.gaps} store={store} />}
    </article>
  );
}

function Sources({ sources }: { sources: readonly CitedSource[] }) {
  const [shown, showAll] = useFirstItems(sources, "sources");
  return (
    <section aria-labelledby="sources-title">
      <h3 id="sources-title">Sources</h3>
      <ol class="sources">
        {shown.map((source) => {
          const seq = seqOf(source.event_id);
          return (
            <li key={`${source.event_id} ${source.url}`}>
              <OuterLink href={source.url}>{source.title || source.url}</OuterLink>
              {seq !== null && (
                <>
                  {" · "}
                  <a class="evidence" href={eventLink(seq)} title="Show the event">
                    evidence {seq}
                  </a>
                </>
              )}
            </li>
          );
        })}
      </ol>
      {showAll}
    </section>
  );
}

export function Gaps({ gaps, store }: { gaps: readonly Gap[]; store: RunStore }) {
  const [shown, showAll] = useFirstItems(gaps, "gaps");
  return (
    <section aria-labelledby="gaps-title">
      <h3 id="gaps-title">Gaps</h3>
      <ul class="list gaps">
        {shown.map((gap, index) => {
          const key = gap.work_order_id === null
            ? null
            : `${gap.work_order_id}.${gap.subtask_index}`;
          return (
            <li key={index}>
              <p>
                <span aria-hidden="true" class="tone-asks">◑</span> {key
                  // With its arguments: many subtasks may share a name.
                  ? <a href={workerLink(key)}>{store.live.byKey.get(key)?.label ?? gap.name}</a>
                  : <strong>{gap.name}</strong>}
                <span class="badge">{gap.class}</span>
              </p>
              <p>{gap.reason}</p>
              {gap.next_action && <p class="muted">Next step: {gap.next_action}</p>}
            </li>
          );
        })}
      </ul>
      {showAll}
    </section>
  );
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
