// Test the todo list and the artifacts of a run, and the tabs that show them.

import assert from "node:assert/strict";
import { isValidElement, type VNode } from "preact";
import { RunView } from "../state/run_view.ts";
import { Artifacts } from "./artifacts.tsx";
import { change, sampleView } from "../state/samples_test.ts";
import { tabsOf } from "../selection.ts";
import { todoProgress, Todos } from "./todos.tsx";

const TODOS = [
  { id: "a", content: "Read the files", status: "completed" },
  { id: "b", content: "Write the report", status: "in_progress", priority: "high" },
] as const;
const NOTES = {
  version: 2,
  bytes: 1_234,
  by: "wo-001.0",
  at: "2026-11-21T12:00:00.000Z",
  seq: 7,
};

/** Return the text of elements, without that of components that use hooks or signals. */
function textOf(node: unknown): string {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (!isValidElement(node)) return ["string", "number"].includes(typeof node) ? String(node) : "";
  return textOf((node as VNode<{ children?: unknown }>).props.children);
}

function textsOf(list: unknown): string[] {
  const { children } = (list as VNode<{ children: unknown[] }>).props;
  return children.map(textOf);
}

Deno.test("todos are in the order of the list, each with its state and priority", () => {
  const view = new RunView({ ...sampleView(), todos: TODOS });
  assert.deepEqual(textsOf(Todos({ store: { view } })), [
    "Read the filesCompleted",
    "Write the reportIn progress, high priority",
  ]);
  assert.equal(todoProgress(TODOS), "1/2");
});

Deno.test("an artifact shows its name, version, size and event", () => {
  const view = new RunView(sampleView());
  const shown = () => Artifacts({ store: { view }, selection: { file: "" } });
  assert.equal(textOf(shown()), "No files yet.");
  view.apply(change(7, { artifacts: { "notes/a.md": NOTES } }));
  const [text = ""] = textsOf(shown());
  for (const part of ["notes/a.md version 2", "1.2 kB", "event 7"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
});

Deno.test("todos and artifacts have a tab once the run has some, the order in the work-order flow", () => {
  const view = (flow: string) => {
    const sample = sampleView();
    return new RunView({ ...sample, run: { ...sample.run, flow }, orders: {} });
  };
  const own = view("own");
  assert.equal(tabsOf(own, "answer").join(" "), "answer inspector");
  assert.equal(tabsOf(own, "todos").join(" "), "answer inspector todos", "a selected tab stays");
  own.apply(change(3, { todos: TODOS, artifacts: { "notes/a.md": NOTES } }));
  assert.equal(tabsOf(own, "answer").join(" "), "answer inspector todos artifacts");
  assert.equal(tabsOf(view("work-order"), "answer").join(" "), "answer inspector order");
  assert.equal(tabsOf(view("research"), "answer").join(" "), "answer inspector todos artifacts");
});
