// Log in with an API key; the requested page opens afterwards.

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
            Starts with <code>lh_</code>. Create a key with <code>leadhand keys create</code>.
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
