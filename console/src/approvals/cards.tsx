// A list of approvals, whose places do not change while it is shown.

import type { ApprovalCard as Card } from "../wire.ts";
import { ApprovalCard } from "./card.tsx";
import { useKept } from "./kept.ts";

interface ApprovalCardsProps {
  readonly cards: readonly Card[];
  readonly heading: "h2" | "h3";
  /** The page around the cards shows the run and its request already. */
  readonly within?: boolean;
  /** Called with the id of each approval that is answered here. */
  readonly onDone: (id: string) => void;
}

export function ApprovalCards({ cards, heading, within, onDone }: ApprovalCardsProps) {
  return (
    <ul class="approval-list">
      {useKept(cards).map(({ card, open }) => (
        <li key={card.approval_id}>
          <ApprovalCard
            card={card}
            open={open}
            heading={heading}
            within={within}
            onDone={() => {
              focusNext(card.approval_id);
              onDone(card.approval_id);
            }}
          />
        </li>
      ))}
    </ul>
  );
}

/** Move the focus from a card that was answered to the next open card, else to the heading. */
function focusNext(id: string): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-approval]")];
  const at = all.findIndex((card) => card.dataset.approval === id);
  if (!all[at]?.contains(document.activeElement) && document.activeElement !== document.body) {
    return;
  }
  const open = (card: HTMLElement) => !card.classList.contains("answered");
  const next = all.slice(at + 1).find(open) ?? all.slice(0, at).findLast(open) ??
    document.querySelector<HTMLElement>(".approvals h1");
  next?.focus({ preventScroll: true }); // nothing moves under a pointer
  if (next?.matches(":focus-visible")) next.scrollIntoView({ block: "nearest" });
}
