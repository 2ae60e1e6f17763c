// Approvals: the open approvals of all runs.

import { useEffect } from "preact/hooks";
import { getApprovals } from "../api.ts";
import { blurFocused, moveFocus, useShortcuts } from "../keys.ts";
import { openApprovals } from "../shell/open_approvals.ts";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import { ApprovalCards } from "./cards.tsx";

const EVERY_MS = 2000;

export function ApprovalsScreen() {
  const { value, problem, reload } = useLoaded(getApprovals, {
    key: "inbox",
    everyMs: EVERY_MS,
  });
  const cards = value?.approvals ?? [];
  const title = cards.length > 0 ? `(${cards.length}) Approvals` : "Approvals";
  useTitle(title);
  useEffect(() => {
    if (value) openApprovals.value = value.approvals.length;
  }, [value]);
  useCardShortcuts();
  return (
    <div class="approvals">
      <h1 tabIndex={-1}>Approvals</h1>
      <ProblemNote problem={problem} />
      {value === null
        ? !problem && <Waiting what="approvals" />
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
        : <ApprovalCards cards={cards} heading="h2" onDone={reload} />}
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
