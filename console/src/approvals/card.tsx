// One approval: a call, what is known about it, and the possible answers. The inbox and the run screen show it.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
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
import { titleOf } from "./kept.ts";
import { Plan } from "./plan.tsx";
import { useSteady } from "./steady.ts";

interface ApprovalCardProps {
  readonly card: Card;
  /** False once it is answered, here or elsewhere. */
  readonly open: boolean;
  /** Called once the approval is answered. */
  readonly onDone: () => void;
  /** Leave out what the page around the card shows already: the run and its request. */
  readonly within?: boolean;
  /** The level of its heading. */
  readonly heading?: "h2" | "h3" | "h4";
}

type Mode = "buttons" | "edit" | "deny" | "happened";

const OPENING = { call: "Allow ", effect: "Did ", plan: "Carry out " };

const ANNOUNCED: { readonly [decision: string]: string } = {
  approve: "Approved",
  deny: "Denied",
  settle: "Settled",
};

export function ApprovalCard(props: ApprovalCardProps) {
  const { card, open, onDone, within = false, heading: Heading = "h3" } = props;
  const [mode, setMode] = useState<Mode>("buttons");
  const heading = useId();
  const subject = card.kind === "plan" ? "the plan" : card.tool;
  const article = useRef<HTMLElement>(null);
  const [gone, setGone] = useState(false);
  const [answer, setAnswer] = useState("Answered elsewhere");
  const { steady, isSteady } = useSteady(article);
  // It keeps its height when it is answered, so that no button moves under a pointer.
  const height = useRef(0);
  useLayoutEffect(() => {
    if (open) height.current = article.current?.getBoundingClientRect().height ?? 0;
  });
  const answering = useAction(async (answer: AnswerBody) => {
    try {
      await answerApproval(card.approval_id, answer);
    } catch (error) {
      if (await isGone(card.approval_id, error)) setGone(true);
      throw error;
    }
    openApprovals.value = Math.max(0, openApprovals.peek() - 1);
    const word = ANNOUNCED[answer.decision]!;
    setAnswer(word);
    announce(`${word}: ${subject}`);
    onDone();
  });

  // The keys act on the focused card only, so that nothing is approved by accident.
  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== article.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (card.kind === "effect" || mode !== "buttons" || !may("approve") || !open) return;
    if (event.repeat) return;
    const actions: { [key: string]: () => void } = {
      a: () => answering.run({ decision: "approve" }),
      d: () => setMode("deny"),
      ...(card.kind === "call" && { e: () => setMode("edit") }),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  const answerable = open && !gone;
  /** Ignore a click on a card that has just moved: it may be meant for another. */
  const steadily = <Args extends unknown[]>(act: (...args: Args) => unknown) => (...args: Args) => {
    if (isSteady()) act(...args);
  };
  const title = card.kind === "plan" ? "" : titleOf(card.args);
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
      class={`approval panel effect-${card.effect}${open ? "" : " answered"}`}
      style={open ? undefined : { minHeight: `${height.current}px` }}
      ref={article}
      tabIndex={-1}
      data-approval={card.approval_id}
      aria-labelledby={heading}
      onKeyDown={onKeyDown}
    >
      <header>
        <Heading id={heading}>
          {!open && `${answer}: `}
          {open && OPENING[card.kind]}
          {card.kind === "plan" ? subject : <code>{card.tool}</code>}
          {open && card.kind === "effect" && " go through"}
          {title}
          {open && "?"}
        </Heading>
        {open && card.kind === "effect" && (
          <p class="muted">
            The call was interrupted and its outcome is unknown. Check its effect before you answer:
            a call that did not go through may be made again.
          </p>
        )}
      </header>
      {card.kind === "plan"
        ? <Plan plan={card.args} />
        : <Arguments args={card.args} origins={card.origins} />}
      <Facts card={card} within={within} />
      {open && !may("approve") && <p class="muted">Your key does not allow approvals.</p>}
      {mode === "edit" && answerable && (
        <EditForm
          {...form}
          args={card.args}
          onSend={(args) => answering.run({ decision: "approve", args })}
        />
      )}
      {mode === "deny" && answerable && (
        <DenyForm
          {...form}
          tool={subject}
          onSend={(reason) => answering.run({ decision: "deny", ...(reason && { reason }) })}
        />
      )}
      {mode === "happened" && answerable && (
        <HappenedForm
          {...form}
          onSend={(result) => answering.run({ decision: "settle", happened: true, ...result })}
        />
      )}
      <ProblemNote problem={answering.problem} />
      {open && gone && (
        <div class="buttons">
          <Button onClick={onDone}>Remove from list</Button>
        </div>
      )}
      {mode === "buttons" && answerable && may("approve") && (
        <div class="buttons">
          {card.kind !== "effect"
            ? (
              <CallButtons
                tool={subject}
                isPlan={card.kind === "plan"}
                busy={answering.busy}
                held={!steady}
                onAnswer={steadily(answering.run)}
                onMode={steadily(setMode)}
              />
            )
            : (
              <>
                <Button
                  held={!steady}
                  label={`Yes, it did: ${card.tool}…`}
                  onClick={steadily(() => setMode("happened"))}
                >
                  Yes, it did…
                </Button>
                <Button
                  busy={answering.busy}
                  held={!steady}
                  label={`No, it did not: ${card.tool}`}
                  onClick={steadily(() => answering.run({ decision: "settle", happened: false }))}
                >
                  No, it did not
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
  readonly isPlan: boolean;
  readonly busy: boolean;
  readonly held: boolean;
  readonly onAnswer: (answer: AnswerBody) => void;
  readonly onMode: (mode: Mode) => void;
}

function CallButtons({ tool, isPlan, busy, held, onAnswer, onMode }: CallButtonsProps) {
  return (
    <>
      <Button
        kind="primary"
        busy={busy}
        held={held}
        label={`Approve ${tool}`}
        title="a"
        onClick={() => onAnswer({ decision: "approve" })}
      >
        Approve
      </Button>
      {!isPlan && (
        <Button
          held={held}
          label={`Edit arguments of ${tool}`}
          title="e"
          onClick={() => onMode("edit")}
        >
          Edit…
        </Button>
      )}
      <Button
        kind="danger"
        held={held}
        label={`Deny ${tool}`}
        title="d"
        onClick={() => onMode("deny")}
      >
        Deny…
      </Button>
      {!isPlan && (
        <Button
          busy={busy}
          held={held}
          label={`Always approve ${tool}`}
          title={`Approve this and all later calls of ${tool} in this run`}
          onClick={() => onAnswer({ decision: "approve", always: true })}
        >
          Always approve
        </Button>
      )}
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
