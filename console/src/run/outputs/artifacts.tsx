// The files that a run wrote: each with its author and versions, shown in place, or downloaded.

import { useMemo, useState } from "preact/hooks";
import { artifactPath, get, getArtifact } from "../../api.ts";
import { bytes, exact } from "../../formats.ts";
import { Markdown } from "../../markdown.tsx";
import { setQuery } from "../../router.ts";
import { Copy } from "../../ui/copy.tsx";
import { Choice } from "../../ui/field.tsx";
import { useLoaded } from "../../ui/loading.ts";
import { ProblemNote } from "../../ui/problem_note.tsx";
import { Age } from "../../ui/time.tsx";
import { splitLabel } from "../state/labels.ts";
import type { RunView } from "../state/run_view.ts";
import { eventLink, type Selection, workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { isOver } from "../state/view.ts";

interface ArtifactsProps {
  readonly store: Pick<RunStore, "view">;
  readonly selection: Pick<Selection, "file">;
}

export function Artifacts({ store, selection }: ArtifactsProps) {
  const { view } = store;
  const entries = Object.entries(view.artifacts.value)
    .sort(([one], [other]) => one.localeCompare(other));
  if (entries.length === 0) {
    const over = isOver(view.run.value.status);
    return <p class="muted">{over ? "The run wrote no files." : "No files yet."}</p>;
  }
  return (
    <ul class="list artifacts">
      {entries.map(([path, { version, bytes: size, by, at, seq }]) => {
        const open = path === selection.file;
        return (
          <li key={path}>
            <p>
              <button
                type="button"
                class="link"
                aria-expanded={open}
                onClick={() => setQuery({ file: open ? null : path })}
              >
                <strong>{path}</strong>
              </button>{" "}
              <span class="badge">version {version}</span>
            </p>
            <p class="small muted">
              {bytes(size)} · <Author by={by} view={view} />, <Age at={at} word="ago" /> ·{" "}
              <a href={eventLink(seq)}>event {seq}</a>
            </p>
            {open && <File path={path} latest={version} view={view} />}
          </li>
        );
      })}
    </ul>
  );
}

function Author({ by, view }: { by: string; view: RunView }) {
  return (
    <>
      written by <a href={workerLink(by)}>{nameOf(by, view)}</a>
    </>
  );
}

function nameOf(by: string, view: RunView): string {
  const lane = view.step(by);
  return lane ? splitLabel(lane).name : by;
}

/** The content of a file: its latest version, or one that is chosen. */
function File({ path, latest, view }: { path: string; latest: number; view: RunView }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const { runId } = view;
  const version = chosen ?? latest;
  const { value: all } = useLoaded(
    (options) => get("/api/runs/{run_id}/artifacts", { run_id: runId }, options),
    { key: `${runId} ${latest}` },
  );
  const { value, problem } = useLoaded(
    (options) => getArtifact(runId, path, version, options),
    { key: `${runId} ${version} ${path}` },
  );
  const lines = all?.filter((line) => line.path === path) ?? [];
  const line = lines.find((each) => each.version === version);
  return (
    <section class="file" aria-label={path}>
      <div class="file-actions">
        {lines.length > 1 && (
          <Choice
            label="Version"
            choices={lines.toReversed().map(({ version: number, by }) => [
              String(number),
              `${number}${number === latest ? " (latest)" : ""}, by ${nameOf(by, view)}`,
            ])}
            value={String(version)}
            onInput={(number) => setChosen(Number(number) === latest ? null : Number(number))}
          />
        )}
        <a href={artifactPath(runId, path, version)} download>Download</a>
        {value !== null && <Copy text={value} what="file" />}
      </div>
      {version !== latest && line && (
        <p class="small muted">
          {bytes(line.bytes)} · <Author by={line.by} view={view} />, <Age at={line.at} word="ago" />
        </p>
      )}
      <ProblemNote problem={problem} />
      {problem === null && value === null && <p class="muted">Loading the file…</p>}
      {value !== null && <Content path={path} text={value} />}
      {line && (
        <p class="small muted">
          <code>{line.digest}</code>
        </p>
      )}
    </section>
  );
}

/** More characters than this take long to draw. */
const SHOWN = 200_000;

function Content({ path, text }: { path: string; text: string }) {
  const drawn = useMemo(() => {
    const first = text.slice(0, SHOWN);
    if (/\.(md|markdown)$/i.test(path)) return <Markdown text={first} top={3} />;
    return <pre tabIndex={0}><code>{exact(first)}</code></pre>;
  }, [path, text]);
  if (text.includes("\0")) return <p class="muted">The file is not a text. Download it.</p>;
  if (text === "") return <p class="muted">The file is empty.</p>;
  return (
    <>
      {drawn}
      {text.length > SHOWN && (
        <p class="muted">
          The first {SHOWN.toLocaleString("en")}{" "}
          characters are shown. Download the file for the rest.
        </p>
      )}
    </>
  );
}
