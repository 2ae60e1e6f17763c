// Roles: their models and instructions; an admin sets them for later runs.

import { useEffect, useRef, useState } from "preact/hooks";
import { getAgents, setAgent, unsetAgent } from "../api.ts";
import type { AgentDocument } from "../wire.ts";
import { count } from "../formats.ts";
import { Markdown } from "../markdown.tsx";
import { place, setQuery } from "../router.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Form, TextArea, TextField, useInitialFocus } from "../ui/field.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Age } from "../ui/time.tsx";
import { changesOf, lengthOf, MAX_INSTRUCTIONS, type RoleFields } from "./role_change.ts";

export function Roles() {
  const { value, problem, reload } = useLoaded(getAgents, { key: "agents" });
  const selected = place.value.query.get("role");
  return (
    <section class="roles" aria-labelledby="roles-title">
      <h2 id="roles-title">Roles</h2>
      <p class="muted">Changes apply to new runs.</p>
      <ProblemNote problem={problem} />
      {value?.agents.map((agent) => (
        <RoleView
          key={agent.name}
          agent={agent}
          open={agent.name === selected}
          onChanged={reload}
        />
      ))}
    </section>
  );
}

interface RoleProps {
  readonly agent: AgentDocument;
  readonly open: boolean;
  /** Called once the role was changed or reset. */
  readonly onChanged: () => void;
}

function RoleView({ agent, open, onChanged }: RoleProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const [editing, setEditing] = useState(false);
  const [resetting, setResetting] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useEffect(() => {
    if (open) details.current?.scrollIntoView({ block: "nearest" }); // a link may lead here
  }, []);
  useEffect(() => {
    if (wasEditing.current && !editing) edit.current?.focus();
    wasEditing.current = editing;
  }, [editing]);
  return (
    <details ref={details} class="panel role" open={open}>
      <summary
        onClick={(event) => {
          event.preventDefault(); // the URL holds what is open
          setQuery({ role: open ? null : agent.name });
        }}
      >
        <strong>{agent.name}</strong>
        <span>{agent.role}</span>
        <code class="muted">{agent.model}</code>
        {agent.changed && (
          <span class="badge">
            changed by {agent.changed.by || "unknown"}, <Age at={agent.changed.at} word="ago" />
          </span>
        )}
      </summary>
      <div class="role-body">
        {editing
          ? (
            <RoleForm
              agent={agent}
              onSaved={() => {
                setEditing(false);
                onChanged();
              }}
              onBack={() => setEditing(false)}
            />
          )
          : (
            <>
              <Markdown text={agent.instructions} />
              {may("admin") && (
                <div class="buttons">
                  <Button
                    buttonRef={edit}
                    label={`Edit ${agent.name}`}
                    onClick={() => setEditing(true)}
                  >
                    Edit
                  </Button>
                  {agent.changed && (
                    <Button
                      label={`Reset ${agent.name}`}
                      onClick={() => setResetting(true)}
                    >
                      Reset…
                    </Button>
                  )}
                </div>
              )}
            </>
          )}
      </div>
      {resetting && (
        <Confirm
          title={`Reset ${agent.name}?`}
          action="Reset"
          onConfirm={async () => {
            await unsetAgent(agent.name);
            announce(`Reset ${agent.name} to its defaults`);
            onChanged();
          }}
          onClose={() => setResetting(false)}
        >
          <p>
            The model and the instructions return to their defaults. Existing runs keep what they
            started with.
          </p>
        </Confirm>
      )}
    </details>
  );
}

interface RoleFormProps {
  readonly agent: AgentDocument;
  readonly onSaved: () => void;
  readonly onBack: () => void;
}

/** The form that changes a role; its text stays when the service refuses it. */
function RoleForm({ agent, onSaved, onBack }: RoleFormProps) {
  const [fields, setFields] = useState<RoleFields>({
    model: agent.model,
    instructions: agent.instructions,
  });
  const change = (name: keyof RoleFields) => (value: string) =>
    setFields((last) => ({ ...last, [name]: value }));
  const first = useInitialFocus<HTMLInputElement>();
  const saving = useAction(async () => {
    const changes = changesOf(agent, fields);
    if (changes.model !== null || changes.instructions !== null) {
      await setAgent(agent.name, changes);
      announce(`Changed ${agent.name} for new runs`);
    } else if (agent.changed) {
      await unsetAgent(agent.name);
      announce(`Reset ${agent.name} to its defaults`);
    }
    onSaved();
  });
  const length = lengthOf(fields.instructions);
  const tooLong = length > MAX_INSTRUCTIONS
    ? `At most ${count(MAX_INSTRUCTIONS, "character")}.`
    : null;
  return (
    <Form
      class="role-form"
      onSubmit={() => {
        if (!tooLong) saving.run();
      }}
    >
      <TextField
        label="Model"
        hint="provider:name. Empty: the default. A run's own model takes precedence."
        error={saving.problem?.errorAt("model")}
        ref={first}
        spellcheck={false}
        autocomplete="off"
        value={fields.model}
        onInput={change("model")}
      />
      <TextArea
        label="Instructions"
        hint={`Markdown. Empty: the default. ${length.toLocaleString("en")} of ${
          count(MAX_INSTRUCTIONS, "character")
        }.`}
        error={tooLong ?? saving.problem?.errorAt("instructions")}
        class="code"
        rows={16}
        value={fields.instructions}
        onInput={change("instructions")}
      />
      <ProblemNote problem={saving.problem} />
      <div class="buttons">
        <Button type="submit" kind="primary" busy={saving.busy} disabled={tooLong !== null}>
          Save
        </Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </Form>
  );
}
