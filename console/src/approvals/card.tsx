// One approval: what is known of a call, and the ways to answer. The inbox and the run screen show it.

import { useId, useRef, useState } from "preact/hooks";
import { answerApproval, asProblem, getApproval } from "../api.ts";
import type { AnswerBody, ApprovalCard as Card } from "../wire.ts";
import { openApprovals } from "../shell/open_approvals.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Arguments } from "./arguments.tsx";
import { Denying, Editing, Happened } from "./answers.tsx";
import { Facts } from "./facts.tsx";

export interface ApprovalCardProps {
  readonly card: Card;
  /** Called once the approval is answered. */
  readonly onDone: () => void;
  /** Leave out what the page around the card shows already: the run and its request. */
  readonly within?: boolean;
  /** The level of its heading. */
  readonly heading?: "h2" | "h3" | "h4";
}

type Mode = "asked" | "editing" | "denying" | "happened";

const SAID: { readonly [decision: string]: string } = {
  approve: "Approved",
  deny: "Denied",
  settle: "Settled",
};

export function ApprovalCard(props: ApprovalCardProps) {
  const { card, onDone, within = false, heading: Heading = "h3" } = props;
  const [mode, setMode] = useState<Mode>("asked");
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
    announce(`${SAID[answer.decision]}: ${card.tool}`);
    onDone();
  });
  const back = () => {
    answering.forget();
    setMode("asked");
    article.current?.focus();
  };

  // The keys act on the focused card only, so that nothing is approved by accident.
  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== article.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (card.kind !== "call" || mode !== "asked" || !may("approve")) return;
    const act: { [key: string]: () => void } = {
      a: () => answering.run({ decision: "approve" }),
      d: () => setMode("denying"),
      e: () => setMode("editing"),
    };
    const found = act[event.key];
    if (!found) return;
    event.preventDefault();
    event.stopPropagation();
    found();
  }

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
          {card.kind === "call"
            ? (
              <>
                Call <code>{card.tool}</code>?
              </>
            )
            : (
              <>
                Did <code>{card.tool}</code> happen?
              </>
            )}
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
      {!may("approve") ? <p class="muted">Your key does not allow approvals.</p> : gone
        ? (
          <>
            <ProblemNote problem={answering.problem} />
            <div class="buttons">
              <Button onClick={onDone}>Remove from list</Button>
            </div>
          </>
        )
        : (
          <>
            {mode === "editing" && (
              <Editing
                args={card.args}
                busy={answering.busy}
                onSend={(args) => answering.run({ decision: "approve", args })}
                onBack={back}
              />
            )}
            {mode === "denying" && (
              <Denying
                tool={card.tool}
                busy={answering.busy}
                onSend={(reason) => answering.run({ decision: "deny", ...(reason && { reason }) })}
                onBack={back}
              />
            )}
            {mode === "happened" && (
              <Happened
                busy={answering.busy}
                onSend={(result) =>
                  answering.run({ decision: "settle", happened: true, ...result })}
                onBack={back}
              />
            )}
            <ProblemNote problem={answering.problem} />
            {mode === "asked" && (card.kind === "call"
              ? (
                <div class="buttons">
                  <Button
                    kind="primary"
                    busy={answering.busy}
                    label={`Approve ${card.tool}`}
                    title="a"
                    onClick={() => answering.run({ decision: "approve" })}
                  >
                    Approve
                  </Button>
                  <Button
                    label={`Edit arguments of ${card.tool}`}
                    title="e"
                    onClick={() => setMode("editing")}
                  >
                    Edit…
                  </Button>
                  <Button
                    kind="danger"
                    label={`Deny ${card.tool}`}
                    title="d"
                    onClick={() => setMode("denying")}
                  >
                    Deny…
                  </Button>
                  <Button
                    busy={answering.busy}
                    label={`Always approve ${card.tool}`}
                    title={`Approve this and all later calls of ${card.tool} in this run`}
                    onClick={() => answering.run({ decision: "approve", always: true })}
                  >
                    Always approve
                  </Button>
                </div>
              )
              : (
                <div class="buttons">
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
                </div>
              ))}
          </>
        )}
    </article>
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
