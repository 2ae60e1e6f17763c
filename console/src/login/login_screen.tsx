// Log in with an API key; the requested page opens afterwards.

import { useState } from "preact/hooks";
import { post } from "../api.ts";
import { session } from "../session.ts";
import { Button, useAction } from "../ui/button.tsx";
import { Form, TextField } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";

export function LoginScreen() {
  useTitle("Log in");
  const [key, setKey] = useState("");
  const loggingIn = useAction(async () => {
    session.value = await post("/api/session", {}, { key: key.trim() });
  });
  return (
    <Form class="login panel" aria-labelledby="login-title" onSubmit={loggingIn.run}>
      <h1 id="login-title">Log in</h1>
      <TextField
        label="API key"
        hint={
          <>
            Starts with <code>lh_</code>. Create a key with <code>leadhand keys create</code>.
          </>
        }
        type="password"
        name="key"
        autocomplete="current-password"
        required
        value={key}
        onInput={setKey}
      />
      <ProblemNote problem={loggingIn.problem} />
      <div class="buttons">
        <Button type="submit" kind="primary" busy={loggingIn.busy}>Log in</Button>
      </div>
    </Form>
  );
}
