// The todo list of a run.

import { StatusGlyph } from "../../ui/status.tsx";
import type { RunStore } from "../state/store.ts";
import { isOver, type View } from "../state/view.ts";

const TODO_WORDS = { pending: "Pending", in_progress: "In progress", completed: "Completed" };

export function Todos({ store }: { store: Pick<RunStore, "view"> }) {
  const todos = store.view.todos.value;
  if (todos.length === 0) {
    return (
      <p class="muted">
        {isOver(store.view.run.value.status) ? "The run had no todo list." : "No todos yet."}
      </p>
    );
  }
  return (
    <ol class="list todos" aria-label="Todos">
      {todos.map(({ id, content, status, priority }) => (
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
  if (todos.length === 0) return "";
  return `${todos.filter((todo) => todo.status === "completed").length}/${todos.length}`;
}
