// Login: paste a key; what is opened goes on where it was.

import { useState } from "preact/hooks";
import { logIn } from "../api.ts";
import { session } from "../session.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";

export function LoginScreen() {
  useTitle("Log in");
  const [key, setKey] = useState("");
  const entering = useAction(async () => {
    session.value = await logIn(key.trim());
  });
  return (
    <form
      class="login panel"
      aria-labelledby="login-title"
      onSubmit={(event) => {
        event.preventDefault();
        entering.run();
      }}
    >
      <h1 id="login-title">Log in</h1>
      <Field
        label="API key"
        hint={
          <>
            It begins with <code>lh_</code>. Who runs this service makes one with{" "}
            <code>leadhand keys create</code>.
          </>
        }
      >
        {(described) => (
          <input
            {...described}
            type="password"
            name="key"
            autocomplete="current-password"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        )}
      </Field>
      <ProblemNote problem={entering.problem} />
      <div class="buttons">
        <Button type="submit" kind="primary" busy={entering.busy}>Log in</Button>
      </div>
    </form>
  );
}
