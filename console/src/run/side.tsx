// The right column: an open question and open approvals on top, then the answer, the inspector and more of the run as tabs.

import { ApprovalCards } from "../approvals/cards.tsx";
import { capitalized } from "../formats.ts";
import { lazy } from "../ui/lazy.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Answer } from "./answer/answer.tsx";
import { Artifacts } from "./outputs/artifacts.tsx";
import { FollowUp } from "./answer/follow_up.tsx";
import { Inspector } from "./inspector/inspector.tsx";
import { Orders } from "./orders/orders.tsx";
import { QuestionBox } from "./answer/question.tsx";
import { type Selection, selectTab, type TabName, tabsOf } from "./selection.ts";
import type { RunStore } from "./state/store.ts";
import { todoProgress, Todos } from "./outputs/todos.tsx";
import type { RunView } from "./state/run_view.ts";

const Report = lazy("Report");
const Revisions = lazy("Revisions");
const Usage = lazy("Usage");

interface SideProps {
  readonly store: RunStore;
  readonly selection: Selection;
}

export function Side({ store, selection }: SideProps) {
  const { tab } = selection;
  const { view } = store;
  return (
    <aside class="side" aria-label="Questions, answer and details">
      <div id="asked" class="inbox">
        <QuestionBox store={store} />
        <Approvals store={store} />
      </div>
      <div class="panel side-tabs">
        <h2 class="unseen">Details</h2>
        <Tabs
          label="Details"
          tabs={tabsOf(view, tab).map((name) => ({ name, label: labelOf(name, view) }))}
          selected={tab}
          onSelect={(name) => selectTab(name as TabName)}
        >
          {tab === "answer" && <AnswerOf store={store} />}
          {tab === "answer" && <FollowUp store={store} />}
          {tab === "revisions" && <Revisions store={store} />}
          {tab === "inspector" && <Inspector store={store} selection={selection} />}
          {tab === "order" && <Orders store={store} />}
          {tab === "usage" && <Usage store={store} />}
          {tab === "todos" && <Todos store={store} />}
          {tab === "artifacts" && <Artifacts store={store} selection={selection} />}
        </Tabs>
      </div>
    </aside>
  );
}

/** The answer, or the report. */
export function AnswerOf({ store }: { store: RunStore }) {
  return store.view.run.value.flow === "report"
    ? <Report store={store} />
    : <Answer store={store} />;
}

function labelOf(tab: TabName, { run, issued, todos, artifacts }: RunView): string {
  const orders = issued.value.length;
  const files = Object.keys(artifacts.value).length;
  const labels: { readonly [tab in TabName]?: string } = {
    answer: run.value.flow === "report" ? "Report" : "Answer",
    order: orders > 1 ? `Orders (${orders})` : "Order",
    todos: todos.value.length > 0 ? `Todos (${todoProgress(todos.value)})` : "Todos",
    artifacts: files > 0 ? `Artifacts (${files})` : "Artifacts",
  };
  return labels[tab] ?? capitalized(tab);
}

function Approvals({ store }: { store: RunStore }) {
  const cards = store.cards.value;
  if (cards.length === 0) return null;
  return (
    <section class="open-approvals" aria-labelledby="open-approvals-title">
      <h2 id="open-approvals-title">
        {cards.length === 1 ? "Approval needed" : `${cards.length} approvals needed`}
      </h2>
      <ApprovalCards
        cards={cards}
        heading="h3"
        within
        onDone={(id) => store.removeCard(id)}
      />
    </section>
  );
}
