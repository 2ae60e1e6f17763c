// Approvals: the open approvals of all runs.

import { useEffect } from "preact/hooks";
import { getApprovals } from "../api.ts";
import { useKeys } from "../keys.ts";
import { openApprovals } from "../shell/open_approvals.ts";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { ApprovalCard } from "./card.tsx";

const EVERY_MS = 2000;

export function ApprovalsScreen() {
  const { value, problem, reload } = useLoaded((giving) => getApprovals(undefined, giving), {
    key: "inbox",
    everyMs: EVERY_MS,
  });
  const cards = value?.approvals ?? [];
  const counted = cards.length && `(${cards.length}) `;
  useTitle(`${counted || ""}Approvals`);
  useEffect(() => {
    if (value) openApprovals.value = value.approvals.length;
  }, [value]);
  useCardKeys();
  return (
    <div class="approvals">
      <h1 tabIndex={-1}>Approvals</h1>
      <ProblemNote problem={problem?.code === "unreachable" ? null : problem} />
      {value === null
        ? !problem && <p class="waiting" role="status">Loading approvals…</p>
        : cards.length === 0
        ? (
          <section class="empty">
            <p>No open approvals.</p>
            <p class="muted">
              Calls that need approval appear here. Meanwhile the run continues with other work. On
              the command line: <code>leadhand approvals list</code>
            </p>
          </section>
        )
        : (
          <ul class="approval-list">
            {cards.map((card) => (
              <li key={card.id}>
                <ApprovalCard
                  card={card}
                  heading="h2"
                  onDone={() => {
                    leave(card.id);
                    reload();
                  }}
                />
              </li>
            ))}
          </ul>
        )}
    </div>
  );
}

/** Move the focus from a card that is about to go to the next card, else to the heading. */
function leave(id: string): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-approval]")];
  const at = all.findIndex((card) => card.dataset.approval === id);
  if (!all[at]?.contains(document.activeElement) && document.activeElement !== document.body) {
    return;
  }
  const next = all[at + 1] ?? all[at - 1] ?? document.querySelector<HTMLElement>(".approvals h1");
  next?.focus();
}

function useCardKeys(): void {
  const cards = () => [...document.querySelectorAll<HTMLElement>("[data-approval]")];
  function walk(by: 1 | -1): void {
    const all = cards();
    const at = all.findIndex((card) => card.contains(document.activeElement));
    const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
    const next = all[Math.max(0, Math.min(all.length - 1, to))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
  useKeys("Approvals", {
    j: { does: "Next approval", act: () => walk(1) },
    k: { does: "Previous approval", act: () => walk(-1) },
    a: { does: "Approve the focused call", act: () => {} },
    e: { does: "Edit the arguments", act: () => {} },
    d: { does: "Deny the focused call", act: () => {} },
    Escape: {
      does: "Leave the card",
      act: () => {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      },
    },
  });
}
