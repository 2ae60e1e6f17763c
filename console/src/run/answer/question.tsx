// The question that a run waits for: its choices as buttons, and a field for any other answer.

import { useEffect, useState } from "preact/hooks";
import { answerQuestion } from "../../api.ts";
import { asProblem } from "../../problem.ts";
import { may } from "../../session.ts";
import { announce } from "../../ui/announce.tsx";
import { Button, useAction } from "../../ui/button.tsx";
import { Form, TextArea, useText } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem_note.tsx";
import type { OpenQuestion } from "../../wire.ts";
import type { RunStore } from "../state/store.ts";
import { isOver } from "../state/view.ts";

/** The oldest open question of a run; one that was answered elsewhere stays until the person has seen that. */
export function QuestionBox({ store }: { store: RunStore }) {
  const [refused, setRefused] = useState<OpenQuestion | null>(null);
  const asked = isOver(store.status) ? null : store.document.value?.question ?? null;
  const question = refused ?? asked;
  if (question === null) return null;
  return (
    <Asked
      key={question.id}
      store={store}
      question={question}
      refused={refused !== null}
      onRefused={setRefused}
    />
  );
}

interface AskedProps {
  readonly store: RunStore;
  readonly question: OpenQuestion;
  readonly refused: boolean;
  readonly onRefused: (question: OpenQuestion | null) => void;
}

function Asked({ store, question, refused, onRefused }: AskedProps) {
  const { id, text, choices } = question;
  const reply = useText();
  const answering = useAction(async (text: string) => {
    try {
      store.update(await answerQuestion(store.runId, { text, question_id: id }));
    } catch (error) {
      if (asProblem(error).status === 409) onRefused(question);
      throw error;
    }
    announce("Answered");
    document.getElementById("main")?.focus({ preventScroll: true }); // the field is gone
  });
  useEffect(() => announce(`The run asks: ${text}`), []);
  const answer = (text: string) => {
    if (text.trim() !== "") answering.run(text.trim());
  };
  return (
    <section class="asked panel" aria-labelledby="asked-title">
      <h2 id="asked-title">The run asks</h2>
      <p class="question" dir="auto">{text}</p>
      {!may("run") && <p class="muted">Your key does not allow answers.</p>}
      {may("run") && !refused && (
        <Form onSubmit={() => answer(reply.value)}>
          {choices.length > 0 && (
            <div class="buttons" role="group" aria-label="Choices">
              {choices.map((choice) => (
                <Button
                  key={choice}
                  busy={answering.busy}
                  onClick={() => answer(choice)}
                >
                  {choice}
                </Button>
              ))}
            </div>
          )}
          <TextArea label="Your answer" rows={2} required {...reply} />
          <Button type="submit" kind="primary" busy={answering.busy} title="Ctrl+Enter">
            Answer
          </Button>
        </Form>
      )}
      <ProblemNote problem={answering.problem} />
      {refused && (
        <div class="buttons">
          <Button onClick={() => onRefused(null)}>Close</Button>
        </div>
      )}
    </section>
  );
}
