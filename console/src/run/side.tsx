// The right column: open approvals on top, then the answer, the inspector and the orders as tabs.

import { ApprovalCard } from "../approvals/card.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Answer } from "./answer.tsx";
import { chooseTab, type Chosen, type TabName } from "./chosen.ts";
import { Inspector } from "./inspector.tsx";
import { Orders } from "./orders.tsx";
import type { RunStore } from "./store.ts";

interface SideProps {
  readonly store: RunStore;
  readonly runId: string;
  readonly chosen: Chosen;
}

export function Side({ store, runId, chosen }: SideProps) {
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
          chosen={chosen.tab}
          onChoose={(name) => chooseTab(name as TabName)}
        >
          {chosen.tab === "answer" && <Answer store={store} />}
          {chosen.tab === "inspector" && <Inspector store={store} runId={runId} chosen={chosen} />}
          {chosen.tab === "order" && <Orders store={store} />}
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
    <section class="questions" aria-labelledby="questions-title">
      <h2 id="questions-title">
        {cards.length === 1 ? "Approval needed" : `${cards.length} approvals needed`}
      </h2>
      {cards.map((card) => (
        <ApprovalCard
          key={card.id}
          card={card}
          within
          onDone={() => store.answered(card.id)}
        />
      ))}
    </section>
  );
}
