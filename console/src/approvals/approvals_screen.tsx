// Approvals: the open approvals of all runs, and the runs that ask a question.

import { useEffect } from "preact/hooks";
import { get } from "../api.ts";
import { blurFocused, moveFocus, useShortcuts } from "../keys.ts";
import { countAsking, getAsking } from "../shell/open_approvals.ts";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import { ApprovalCards } from "./cards.tsx";

async function getInbox(options: { signal: AbortSignal }) {
  const [{ approvals }, { runs }] = await Promise.all([
    get("/api/approvals", {}, options),
    getAsking(options),
  ]);
  return [approvals, runs] as const;
}

export function ApprovalsScreen() {
  const { value, problem, reload } = useLoaded(getInbox, { key: "inbox", live: true });
  const [cards, runs] = value ?? [[], []];
  const approvals = Map.groupBy(cards, (card) => card.run_id);
  const questions = runs
    .filter(({ run_id, asking }) => asking > (approvals.get(run_id)?.length ?? 0));
  const open = cards.length + questions.length;
  const title = open > 0 ? `(${open}) Approvals` : "Approvals";
  useTitle(title);
  useEffect(() => {
    if (value) countAsking(value[1]);
  }, [value]);
  useCardShortcuts();
  return (
    <div class="approvals">
      <h1 tabIndex={-1}>Approvals</h1>
      <ProblemNote problem={problem} />
      {value === null
        ? !problem && <Waiting what="approvals" />
        : cards.length === 0
        ? questions.length === 0 && (
          <section class="empty">
            <p>No open approvals.</p>
            <p class="muted">
              Calls that need approval appear here. Meanwhile the run continues with other work. On
              the command line: <code>leadhand approvals list</code>
            </p>
          </section>
        )
        : <ApprovalCards cards={cards} heading="h2" onDone={reload} />}
      {questions.length > 0 && (
        <section class="panel asked" aria-labelledby="questions-title">
          <h2 id="questions-title">Questions</h2>
          <ul class="list">
            {questions.map(({ run_id, name, request }) => (
              <li key={run_id}>
                <a dir="auto" href={`/runs/${run_id}`}>{name || request}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

const OPEN = "[data-approval]:not(.answered)";

function useCardShortcuts(): void {
  useShortcuts("Approvals", {
    j: { label: "Next approval", action: () => moveFocus(OPEN, 1) },
    k: { label: "Previous approval", action: () => moveFocus(OPEN, -1) },
    // The focused card handles these itself; here they are for the help.
    a: { label: "Approve the focused call", action: () => {} },
    e: { label: "Edit the arguments", action: () => {} },
    d: { label: "Deny the focused call", action: () => {} },
    Escape: { label: "Leave the card", action: blurFocused },
  });
}
