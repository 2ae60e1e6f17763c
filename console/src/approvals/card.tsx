// One approval: a call, what is known about it, and the possible answers. The inbox and the run screen show it.

import { useId, useRef, useState } from "preact/hooks";
import { answerApproval, asProblem, getApproval } from "../api.ts";
import { may } from "../session.ts";
import { openApprovals } from "../shell/open_approvals.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import type { AnswerBody, ApprovalCard as Card } from "../wire.ts";
import { DenyForm, EditForm, HappenedForm } from "./answers.tsx";
import { Arguments } from "./arguments.tsx";
import { Facts } from "./facts.tsx";

interface ApprovalCardProps {
  readonly card: Card;
  /** Called once the approval is answered. */
  readonly onDone: () => void;
  /** Leave out what the page around the card shows already: the run and its request. */
  readonly within?: boolean;
  /** The level of its heading. */
  readonly heading?: "h2" | "h3" | "h4";
}

type Mode = "buttons" | "edit" | "deny" | "happened";

const ANNOUNCED: { readonly [decision: string]: string } = {
  approve: "Approved",
  deny: "Denied",
  settle: "Settled",
};

export function ApprovalCard(props: ApprovalCardProps) {
  const { card, onDone, within = false, heading: Heading = "h3" } = props;
  const [mode, setMode] = useState<Mode>("buttons");
  const heading = useId();
  const article = useRef<HTMLElement>(null);
  const [gone, setGone] = useState(false);
  const answering = useAction(async (answer: AnswerBody) => {
    try {
      await answerApproval(card.id, answer);
    } catch (error) {
      if (await isGone(card.id, error)) setGone(true);
      throw error;
    }
    openApprovals.value = Math.max(0, openApprovals.peek() - 1);
    announce(`${ANNOUNCED[answer.decision]}: ${card.tool}`);
    onDone();
  });

  // The keys act on the focused card only, so that nothing is approved by accident.
  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== article.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (card.kind !== "call" || mode !== "buttons" || !may("approve")) return;
    const actions: { [key: string]: () => void } = {
      a: () => answering.run({ decision: "approve" }),
      d: () => setMode("deny"),
      e: () => setMode("edit"),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  const form = {
    busy: answering.busy,
    onBack: () => {
      answering.clear();
      setMode("buttons");
      article.current?.focus();
    },
  };
  return (
    <article
      class={`approval panel effect-${card.effect}`}
      ref={article}
      tabIndex={-1}
      data-approval={card.id}
      aria-labelledby={heading}
      onKeyDown={onKeyDown}
    >
      <header>
        <Heading id={heading}>
          {card.kind === "call" ? "Call" : "Did"} <code>{card.tool}</code>
          {card.kind === "call" ? "?" : " happen?"}
        </Heading>
        {card.kind === "effect" && (
          <p class="muted">
            The call was interrupted and its outcome is unknown. Check its effect before you answer:
            a call that did not happen may be made again.
          </p>
        )}
      </header>
      <Arguments args={card.args} origins={card.origins} />
      <Facts card={card} within={within} />
      {!may("approve") && <p class="muted">Your key does not allow approvals.</p>}
      {mode === "edit" && !gone && (
        <EditForm
          {...form}
          args={card.args}
          onSend={(args) => answering.run({ decision: "approve", args })}
        />
      )}
      {mode === "deny" && !gone && (
        <DenyForm
          {...form}
          tool={card.tool}
          onSend={(reason) => answering.run({ decision: "deny", ...(reason && { reason }) })}
        />
      )}
      {mode === "happened" && !gone && (
        <HappenedForm
          {...form}
          onSend={(result) => answering.run({ decision: "settle", happened: true, ...result })}
        />
      )}
      <ProblemNote problem={answering.problem} />
      {gone && (
        <div class="buttons">
          <Button onClick={onDone}>Remove from list</Button>
        </div>
      )}
      {mode === "buttons" && !gone && may("approve") && (
        <div class="buttons">
          {card.kind === "call"
            ? (
              <CallButtons
                tool={card.tool}
                busy={answering.busy}
                onAnswer={answering.run}
                onMode={setMode}
              />
            )
            : (
              <>
                <Button label={`Happened: ${card.tool}…`} onClick={() => setMode("happened")}>
                  Happened…
                </Button>
                <Button
                  busy={answering.busy}
                  label={`Did not happen: ${card.tool}`}
                  onClick={() => answering.run({ decision: "settle", happened: false })}
                >
                  Did not happen
                </Button>
              </>
            )}
        </div>
      )}
    </article>
  );
}

interface CallButtonsProps {
  readonly tool: string;
  readonly busy: boolean;
  readonly onAnswer: (answer: AnswerBody) => void;
  readonly onMode: (mode: Mode) => void;
}

function CallButtons({ tool, busy, onAnswer, onMode }: CallButtonsProps) {
  return (
    <>
      <Button
        kind="primary"
        busy={busy}
        label={`Approve ${tool}`}
        title="a"
        onClick={() => onAnswer({ decision: "approve" })}
      >
        Approve
      </Button>
      <Button label={`Edit arguments of ${tool}`} title="e" onClick={() => onMode("edit")}>
        Edit…
      </Button>
      <Button kind="danger" label={`Deny ${tool}`} title="d" onClick={() => onMode("deny")}>
        Deny…
      </Button>
      <Button
        busy={busy}
        label={`Always approve ${tool}`}
        title={`Approve this and all later calls of ${tool} in this run`}
        onClick={() => onAnswer({ decision: "approve", always: true })}
      >
        Always approve
      </Button>
    </>
  );
}

/** Return whether an answer was refused because the approval is closed: a conflict may also be about the answer. */
async function isGone(id: string, error: unknown): Promise<boolean> {
  if (![404, 409].includes(asProblem(error).status)) return false;
  try {
    await getApproval(id);
    return false;
  } catch (failure) {
    return asProblem(failure).status === 404;
  }
}
