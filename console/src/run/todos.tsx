// The todo list of a run.

import { StatusGlyph } from "../ui/status.tsx";
import type { RunStore } from "./store.ts";
import { isOver, type View } from "./view.ts";

const TODO_WORDS = { pending: "Pending", in_progress: "In progress", completed: "Completed" };

export function Todos({ store }: { store: Pick<RunStore, "live"> }) {
  const { todos, run } = store.live.view;
  const entries = Object.entries(todos)
    .sort(([, one], [, other]) => one.position - other.position);
  if (entries.length === 0) {
    return (
      <p class="muted">{isOver(run.status) ? "The run had no todo list." : "No todos yet."}</p>
    );
  }
  return (
    <ol class="list todos" aria-label="Todos">
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

/** Return the number of completed todos, and of all: "1/3"; "" without any. */
export function todoProgress(todos: View["todos"]): string {
  const all = Object.values(todos);
  if (all.length === 0) return "";
  return `${all.filter((todo) => todo.status === "completed").length}/${all.length}`;
}
