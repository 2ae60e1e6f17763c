// A draft with the status of each sentence; a click on a citation or on a mark shows the passages beside the text.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Annotate, Markdown } from "../markdown.tsx";
import { Button } from "../ui/button.tsx";
import { OuterLink } from "../ui/outer_link.tsx";
import {
  marked,
  partsOfText,
  passageIds,
  problemWords,
  sentencesIn,
  sourceNumbers,
  unmarked,
} from "./annotated.ts";
import { SupportGlyph, SupportLegend, supportWords } from "./support.tsx";
import type { Passage, Statement } from "./task.ts";

interface ReportTextProps {
  readonly text: string;
  readonly statements: readonly Statement[];
  readonly passages: { readonly [id: string]: Passage };
}

/** What is shown beside the text: a sentence, and the passages that it cites. */
interface Shown {
  readonly statement: Statement | undefined;
  readonly passages: readonly Passage[];
}

export function ReportText({ text, statements, passages }: ReportTextProps) {
  const [shown, setShown] = useState<Shown | null>(null);
  const opener = useRef<HTMLElement | null>(null);
  const content = useMemo(() => {
    const ids = passageIds(statements);
    const byIndex = new Map(statements.map((each) => [each.index, each]));
    const numbers = sourceNumbers(text, ids, passages);
    const show = (button: HTMLElement, next: Shown) => {
      opener.current = button;
      setShown(next);
    };
    const annotate = annotation({ byIndex, ids, numbers, passages, show });
    return {
      numbers,
      names: new Map([...ids].map(([name, id]) => [id, name])),
      sentences: sentencesIn(text, statements).map(({ statement }) => statement),
      body: <Markdown text={marked(text, statements)} top={2} annotate={annotate} />,
    };
  }, [text, statements, passages]);
  return (
    <div class={`report-text${shown ? " with-passages" : ""}`}>
      <SupportLegend statements={content.sentences} />
      {content.body}
      {shown && (
        <Passages
          shown={shown}
          numbers={content.numbers}
          names={content.names}
          onClose={() => {
            setShown(null);
            opener.current?.focus();
          }}
        />
      )}
      <Sources numbers={content.numbers} passages={passages} />
    </div>
  );
}

export interface Annotated {
  readonly byIndex: ReadonlyMap<number, Statement>;
  readonly ids: ReadonlyMap<string, string>;
  readonly numbers: ReadonlyMap<string, number>;
  readonly passages: { readonly [id: string]: Passage };
  readonly show: (button: HTMLElement, shown: Shown) => void;
}

/** The beginning or the end of a sentence, among what is rendered. */
class Mark {
  constructor(readonly kind: "begin" | "end", readonly index: number) {}
}

/** Show marks and citations in the place of those in a marked text. The text is rendered in its order. */
export function annotation({ byIndex, ids, numbers, passages, show }: Annotated): Annotate {
  let current: Statement | undefined;
  const citation = (names: readonly string[], text: string, key: string): ComponentChildren => {
    const statement = current;
    const cited = names.map((name) => passages[ids.get(name) ?? ""])
      .filter((passage) => passage !== undefined);
    if (cited.length === 0) return text; // invented: the mark of the sentence says so
    return [...Map.groupBy(cited, ({ id }) => numbers.get(id))].map(([number, of]) => (
      <button
        key={`${key} ${number}`}
        type="button"
        class="citation"
        title={of[0]!.title || of[0]!.url}
        aria-label={`Source ${number}: ${of[0]!.title || of[0]!.url}`}
        onClick={(event) => show(event.currentTarget, { statement, passages: of })}
      >
        [{number}]
      </button>
    ));
  };
  const markOf = (statement: Statement): ComponentChildren => {
    if (statement.status !== "unsupported") {
      return <SupportGlyph key={`mark ${statement.index}`} support={statement.status} />;
    }
    return (
      <button
        key={`mark ${statement.index}`}
        type="button"
        class="citation support tone-bad"
        title="Not supported"
        aria-label="Not supported. Show why"
        onClick={(event) =>
          show(event.currentTarget, {
            statement,
            passages: statement.passages.map((id) => passages[id])
              .filter((passage) => passage !== undefined),
          })}
      >
        ▲
      </button>
    );
  };
  return {
    plain: unmarked,
    text: (text) =>
      partsOfText(text).map((part, at) => {
        if (part.kind === "text") return part.text;
        if (part.kind === "citation") {
          return citation(part.names, part.text, `${current?.index} ${at}`);
        }
        if (part.kind === "begin") current = byIndex.get(part.index);
        return new Mark(part.kind, part.index) as unknown as ComponentChildren;
      }),
    content: (children) => {
      const found: ComponentChildren[] = [];
      let open: { index: number; at: number } | null = null;
      for (const child of children) {
        if (!(child as unknown instanceof Mark)) {
          found.push(child);
          continue;
        }
        const { kind, index } = child as unknown as Mark;
        const statement = byIndex.get(index);
        if (kind === "begin") open = { index, at: found.length };
        else if (statement) {
          const mark = markOf(statement);
          if (open?.index === index) {
            const sentence = [...found.splice(open.at), "\u2060", mark];
            found.push(
              <span key={`sentence ${index}`} class={`sentence ${statement.status}`}>
                {sentence}
              </span>,
            );
          } else found.push(mark); // it began within another element, such as emphasis
        }
      }
      return found;
    },
  };
}

interface PassagesProps {
  readonly shown: Shown;
  readonly numbers: ReadonlyMap<string, number>;
  /** The names of the passages in the draft, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly onClose: () => void;
}

function Passages({ shown: { statement, passages }, numbers, names, onClose }: PassagesProps) {
  const aside = useRef<HTMLElement>(null);
  useEffect(() => aside.current?.focus({ preventScroll: true }), [statement, passages]);
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
        {statement && (
          <p class="small">
            <SupportGlyph support={statement.status} />{" "}
            <strong>{supportWords(statement.status)}</strong>
          </p>
        )}
        <Button small kind="quiet" label="Close the passages" onClick={onClose}>Close</Button>
      </div>
      {statement && statement.problems.length > 0 && (
        <ul class="small">
          {statement.problems.map((problem) => <li key={problem}>{problemWords(problem)}</li>)}
        </ul>
      )}
      {passages.length === 0 && <p class="muted small">The sentence cites no stored passage.</p>}
      {passages.map((passage) => (
        <figure key={passage.id}>
          <blockquote dir="auto">{passage.text}</blockquote>
          <figcaption class="small">
            [{numbers.get(passage.id) ?? "–"}] <SourceLink passage={passage} />
            {passage.published && <span class="muted">, {passage.published}</span>}{" "}
            <span class="muted" title={passage.id}>passage {names.get(passage.id)}</span>
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

/** The sources that the text cites, by number. */
function Sources({ numbers, passages }: {
  readonly numbers: ReadonlyMap<string, number>;
  readonly passages: { readonly [id: string]: Passage };
}) {
  const first = new Map<number, Passage>();
  for (const [id, number] of numbers) if (!first.has(number)) first.set(number, passages[id]!);
  if (first.size === 0) return null;
  return (
    <section aria-labelledby="report-sources">
      <h3 id="report-sources">Sources</h3>
      <ol class="sources">
        {[...first].map(([number, passage]) => (
          <li key={number} value={number}>
            <SourceLink passage={{ ...passage, link: passage.url }} />
          </li>
        ))}
      </ol>
    </section>
  );
}
