// The question that a run waits for: its choices as buttons, and a field for any other answer.

import { useEffect } from "preact/hooks";
import { post } from "../../api.ts";
import { asProblem } from "../../problem.ts";
import { may } from "../../session.ts";
import { announce } from "../../ui/announce.tsx";
import { Button, useAction } from "../../ui/button.tsx";
import { Form, TextArea, useText } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem_note.tsx";
import type { OpenQuestion } from "../../wire.ts";
import type { RunStore } from "../state/store.ts";
import { isOver } from "../state/view.ts";

/** The oldest open question of a run. */
export function QuestionBox({ store }: { store: RunStore }) {
  const question = isOver(store.status.value) ? null : store.document.value?.question;
  return question ? <Asked key={question.id} store={store} question={question} /> : null;
}

function Asked({ store, question }: { store: RunStore; question: OpenQuestion }) {
  const { id, text, choices } = question;
  const reply = useText();
  const answering = useAction(async (text: string) => {
    try {
      const answer = { text, question_id: id };
      store.update(await post("/api/runs/{run_id}/answer", store.of, answer));
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status !== 409) throw error;
      announce(problem.what); // it was answered elsewhere, and the next document has it no more
      store.refresh();
      return;
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
      {may("run") && (
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
    </section>
  );
}
