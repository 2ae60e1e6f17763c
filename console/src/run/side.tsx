// The right column: open approvals on top, then the answer, the inspector and the orders as tabs.

import { ApprovalCard } from "../approvals/card.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Answer } from "./answer.tsx";
import { type Selection, selectTab, type TabName } from "./selection.ts";
import { Inspector } from "./inspector.tsx";
import { Orders } from "./orders.tsx";
import type { RunStore } from "./store.ts";

interface SideProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly selection: Selection;
}

export function Side({ store, runId, selection }: SideProps) {
  return (
    <aside class="side" aria-label="Approvals, answer and details">
      <Approvals store={store} />
      <div class="panel side-tabs">
        <Tabs
          label="Details"
          tabs={[
            { name: "answer", label: "Answer" },
            { name: "inspector", label: "Inspector" },
            { name: "order", label: <OrderLabel store={store} /> },
          ]}
          selected={selection.tab}
          onSelect={(name) => selectTab(name as TabName)}
        >
          {selection.tab === "answer" && <Answer store={store} />}
          {selection.tab === "inspector" && (
            <Inspector store={store} runId={runId} selection={selection} />
          )}
          {selection.tab === "order" && <Orders store={store} />}
        </Tabs>
      </div>
    </aside>
  );
}

function OrderLabel({ store }: { store: RunStore }) {
  const orders = Object.keys(store.live.view.orders).length;
  return <>{orders > 1 ? `Orders (${orders})` : "Order"}</>;
}

function Approvals({ store }: { store: RunStore }) {
  const cards = store.cards.value;
  if (cards.length === 0) return null;
  return (
    <section class="open-approvals" aria-labelledby="open-approvals-title">
      <h2 id="open-approvals-title">
        {cards.length === 1 ? "Approval needed" : `${cards.length} approvals needed`}
      </h2>
      {cards.map((card) => (
        <ApprovalCard
          key={card.id}
          card={card}
          within
          onDone={() => store.removeCard(card.id)}
        />
      ))}
    </section>
  );
}
