// One approval: a call, what is known about it, and the possible answers. The inbox and the run screen show it.

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { post } from "../api.ts";
import { exact } from "../formats.ts";
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

/** The form that is open. */
type Mode = "edit" | "deny" | "happened";

/** A button gives an answer, or opens a form. */
interface CardButton {
  readonly text: string;
  /** For screen readers, before what is approved. */
  readonly label: string;
  readonly kind?: "primary" | "danger";
  /** The key that presses it. */
  readonly key?: string;
  readonly title?: string;
  readonly answer?: AnswerBody;
  readonly form?: Mode;
}

const APPROVE: CardButton = {
  text: "Approve",
  label: "Approve",
  kind: "primary",
  key: "a",
  answer: { decision: "approve" },
};
const DENY: CardButton = { text: "Deny…", label: "Deny", kind: "danger", key: "d", form: "deny" };
const BUTTONS: { readonly [kind in Card["kind"]]: readonly CardButton[] } = {
  call: [
    APPROVE,
    { text: "Edit…", label: "Edit arguments of", key: "e", form: "edit" },
    DENY,
    {
      text: "Always approve",
      label: "Always approve",
      title: "Approve this and all later calls of this tool in this run",
      answer: { decision: "approve", always: true },
    },
  ],
  plan: [APPROVE, DENY],
  effect: [
    { text: "Yes, it did…", label: "Yes, it did:", form: "happened" },
    {
      text: "No, it did not",
      label: "No, it did not:",
      answer: { decision: "settle", happened: false },
    },
  ],
};

const OPENING = { call: "Allow ", effect: "Did ", plan: "Carry out " };

const ANNOUNCED: { readonly [decision: string]: string } = {
  approve: "Approved",
  deny: "Denied",
  settle: "Settled",
};

export function ApprovalCard(props: ApprovalCardProps) {
  const { card, open, onDone, within = false, heading: Heading = "h3" } = props;
  const [mode, setMode] = useState<Mode | null>(null);
  const heading = useId();
  const article = useRef<HTMLElement>(null);
  const [answer, setAnswer] = useState("Answered elsewhere");
  const { steady, isSteady } = useSteady(article);
  // It keeps its height when it is answered, so that no button moves under a pointer.
  const height = useRef(0);
  useLayoutEffect(() => {
    if (open) height.current = article.current?.getBoundingClientRect().height ?? 0;
  });
  const { approval_id } = card;
  const answering = useAction(async (answer: AnswerBody) => {
    await post("/api/approvals/{approval_id}", { approval_id }, answer);
    openApprovals.value = Math.max(0, openApprovals.peek() - 1);
    const word = ANNOUNCED[answer.decision]!;
    setAnswer(word);
    announce(`${word}: ${subject}`);
    onDone();
  });

  const subject = card.called || "the plan";
  const buttons = BUTTONS[card.kind];

  // The keys act on the focused card only, so that nothing is approved by accident.
  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== article.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = buttons.find(({ key }) => key === event.key);
    if (!button || event.repeat || mode !== null || !open || !may("approve")) return;
    event.preventDefault();
    event.stopPropagation();
    press(button);
  }

  function press({ answer, form }: CardButton): void {
    if (form) setMode(form);
    else if (answer) answering.run(answer);
  }

  const title = card.kind === "plan" ? "" : titleOf(card.args);
  const form = {
    busy: answering.busy,
    onBack: () => {
      answering.clear();
      setMode(null);
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
          {card.kind === "plan" ? subject : <code>{exact(subject)}</code>}
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
      {mode === "edit" && open && (
        <EditForm
          {...form}
          args={card.args}
          onSend={(args) => answering.run({ decision: "approve", args })}
        />
      )}
      {mode === "deny" && open && (
        <DenyForm
          {...form}
          tool={subject}
          onSend={(reason) => answering.run({ decision: "deny", ...(reason && { reason }) })}
        />
      )}
      {mode === "happened" && open && (
        <HappenedForm
          {...form}
          onSend={(result) => answering.run({ decision: "settle", happened: true, ...result })}
        />
      )}
      <ProblemNote problem={answering.problem} />
      {mode === null && open && may("approve") && (
        <div class="buttons">
          {buttons.map((button) => (
            <Button
              key={button.text}
              kind={button.kind}
              busy={answering.busy && button.answer !== undefined}
              held={!steady}
              label={`${button.label} ${subject}${button.form === "happened" ? "…" : ""}`}
              title={button.title ?? button.key}
              onClick={() => {
                // A click on a card that has just moved may be meant for another.
                if (isSteady()) press(button);
              }}
            >
              {button.text}
            </Button>
          ))}
        </div>
      )}
    </article>
  );
}
