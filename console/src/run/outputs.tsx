// What a run keeps beside its answer: its todo list and the latest version of each artifact.

import { artifactUrl } from "../api.ts";
import { bytes } from "../formats.ts";
import { StatusGlyph } from "../ui/status.tsx";
import { Age } from "../ui/time.tsx";
import { eventLink, workerLink } from "./selection.ts";
import type { RunStore } from "./store.ts";
import type { View } from "./view.ts";

const TODO_WORDS = { pending: "Pending", in_progress: "In progress", completed: "Completed" };

interface OutputProps {
  readonly store: Pick<RunStore, "live">;
}

export function Todos({ store }: OutputProps) {
  const entries = Object.entries(store.live.view.todos)
    .sort(([, one], [, other]) => one.position - other.position);
  if (entries.length === 0) return <p class="muted">No todos.</p>;
  return (
    <ol class="list todos">
      {entries.map(([id, { content, status, priority }]) => (
        <li key={id} class={`todo-${status}`}>
          <StatusGlyph status={status} />
          <span>{content}</span>
          <span class="muted small">
            {TODO_WORDS[status]}
            {priority && `, ${priority} priority`}
          </span>
        </li>
      ))}
    </ol>
  );
}

export function Artifacts({ store }: OutputProps) {
  const model = store.live;
  const entries = Object.entries(model.view.artifacts);
  if (entries.length === 0) return <p class="muted">No artifacts.</p>;
  return (
    <ul class="list artifacts">
      {entries.sort(([one], [other]) => one.localeCompare(other)).map(([path, artifact]) => (
        <li key={path}>
          <p>
            <a href={artifactUrl(model.view.run_id, path)} download>
              <strong>{path}</strong>
            </a>{" "}
            <span class="badge">version {artifact.version}</span>
          </p>
          <p class="small muted">
            {bytes(artifact.bytes)} · {artifact.media_type} · by{" "}
            <a href={workerLink(artifact.by)}>
              {model.byKey.get(artifact.by)?.label ?? artifact.by}
            </a>, <Age at={artifact.at} word="ago" /> ·{" "}
            <a href={eventLink(artifact.seq)}>event {artifact.seq}</a>
          </p>
          <p class="small">
            <code>{artifact.digest}</code>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Return the number of completed todos, and of all: "1/3". */
export function todoProgress(todos: View["todos"]): string {
  const all = Object.values(todos);
  return `${all.filter((todo) => todo.status === "completed").length}/${all.length}`;
}
