// Examples for an empty list: requests that the built-in tools can answer.

import { Button } from "../ui/button.tsx";
import { draft } from "./draft.ts";

const EXAMPLES = [
  "What's the weather in Paris tomorrow, and how do I get from the Louvre to Orly airport?",
  "Compare the weather in Lisbon, Porto and Faro this weekend",
  "How far is it by bicycle from Utrecht to Amsterdam, and will it rain there today?",
] as const;

export function Examples() {
  return (
    <section class="empty examples" aria-labelledby="examples-title">
      <h2 id="examples-title">No runs yet</h2>
      <p class="muted">
        Write a request, or start with an example that the built-in tools can answer.
      </p>
      <ul class="list">
        {EXAMPLES.map((example) => (
          <li key={example}>
            <Button onClick={() => fillIn(example)}>{example}</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function fillIn(example: string): void {
  draft.value = { ...draft.value, request: example };
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
}
