// The form that changes a role or a stage, or adds a stage.

import { useState } from "preact/hooks";
import { addAgent, setAgent, unsetAgent } from "../api.ts";
import { count } from "../formats.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { Choice, Form, TextArea, TextField, useInitialFocus } from "../ui/field.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import type { AgentClass, AgentDocument } from "../wire.ts";
import { carriers } from "./carriers.ts";
import {
  bodyOf,
  fieldsOf,
  GIVES,
  lengthOf,
  LIMITS,
  MAX_INSTRUCTIONS,
  NEW_STAGE,
  type RoleFields,
  STAGE_PREFIX,
  stageOf,
} from "./role_change.ts";

interface RoleFormProps {
  /** The role to change; null to add a stage. */
  readonly agent: AgentDocument | null;
  /** The stages beside which an added one can be placed. */
  readonly stages: readonly string[];
  /** The Python classes that can carry out a stage. */
  readonly classes: readonly AgentClass[];
  /** Called with the name of the role. */
  readonly onSaved: (name: string) => void;
  readonly onBack: () => void;
}

/** The text stays when the service refuses it. */
export function RoleForm({ agent, stages, classes, onSaved, onBack }: RoleFormProps) {
  const [name, setName] = useState("");
  const [fields, setFields] = useState<RoleFields>(agent === null ? NEW_STAGE : fieldsOf(agent));
  const change = (changed: keyof RoleFields) => (value: string) =>
    setFields((last) => ({ ...last, [changed]: value }));
  const first = useInitialFocus<HTMLInputElement>();
  const saving = useAction(async () => {
    const body = bodyOf(fields, agent?.ships ?? null, agent ?? { added: true });
    if (agent === null) {
      const added = await addAgent({ ...body, name: STAGE_PREFIX + name.trim() });
      announce(`Added ${name.trim()} to new reports`);
      onSaved(added.name);
      return;
    }
    if (Object.keys(body).length > 0) {
      await setAgent(agent.name, body);
      announce(`Changed ${agent.name} for new runs`);
    } else if (agent.changed) {
      await unsetAgent(agent.name);
      announce(`Reset ${agent.name} to its defaults`);
    }
    onSaved(agent.name);
  });
  const error = (at: string) => saving.problem?.errorAt(at);
  const length = lengthOf(fields.instructions);
  const tooLong = length > MAX_INSTRUCTIONS
    ? `At most ${count(MAX_INSTRUCTIONS, "character")}.`
    : null;
  const added = agent === null || agent.added;
  const isStage = agent === null || stageOf(agent.name) !== null;
  const chosen = classes.find((each) => each.name === fields.agent);
  const choose = (value: string) => {
    setFields((last) => ({
      ...last,
      agent: value,
      position: placeFor(value, last.position, added),
    }));
    if (name.trim() === "") setName(value);
  };
  return (
    <Form
      class="role-form"
      aria-label={agent === null ? "New stage" : `Edit ${agent.name}`}
      onSubmit={() => {
        if (!tooLong) saving.run();
      }}
    >
      <div class="role-row">
        {agent === null && (
          <TextField
            label="Name"
            hint="For example fact-checker."
            error={error("name")}
            ref={first}
            required
            pattern="[a-z0-9][a-z0-9_\-]*"
            title="Lower-case letters, digits, hyphens and underscores"
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={setName}
          />
        )}
        {isStage && (classes.length > 0 || fields.agent) && (
          <Choice
            label="Carried out by"
            hint={chosen && `${chosen.description || "No docstring."} From ${chosen.source}.`}
            error={error("agent")}
            choices={carriers(classes, fields.agent)}
            value={fields.agent}
            onInput={choose}
          />
        )}
        {added && (
          <Choice
            label="Position"
            error={error("after") ?? error("before")}
            choices={positions(stages, fields.position, fields.agent !== "")}
            value={fields.position}
            onInput={change("position")}
          />
        )}
        {added && !fields.agent && (
          <Choice
            label="Result"
            error={error("gives")}
            choices={GIVES}
            value={fields.gives}
            onInput={change("gives")}
          />
        )}
        <TextField
          label="Model"
          hint="provider:name. Empty: the default. A run's own model takes precedence."
          error={error("model")}
          ref={agent === null ? undefined : first}
          spellcheck={false}
          autocomplete="off"
          value={fields.model}
          onInput={change("model")}
        />
      </div>
      <TextArea
        label="Instructions"
        hint={`Markdown. ${agent === null && !fields.agent ? "" : "Empty: the default. "}${
          length.toLocaleString("en")
        } of ${count(MAX_INSTRUCTIONS, "character")}.`}
        error={tooLong ?? error("instructions")}
        class="code"
        rows={agent === null ? 6 : 16}
        required={agent === null && !fields.agent}
        value={fields.instructions}
        onInput={change("instructions")}
      />
      {isStage && (
        <details class="limits" open={error("tools") ? true : undefined}>
          <summary>Tools and limits</summary>
          <div class="limits-fields">
            <TextField
              label="Tools"
              hint="Names, separated by commas. Empty: the default."
              error={error("tools")}
              spellcheck={false}
              autocomplete="off"
              value={fields.tools}
              onInput={change("tools")}
            />
            {LIMITS.map(([limit, label]) => (
              <TextField
                key={limit}
                label={label}
                error={error(limit)}
                type="number"
                inputMode="decimal"
                min={limit === "budget" ? "0" : "1"}
                step={limit === "budget" ? "any" : "1"}
                placeholder="Default"
                value={fields.limits[limit] ?? ""}
                onInput={(value) =>
                  setFields((last) => ({ ...last, limits: { ...last.limits, [limit]: value } }))}
              />
            ))}
          </div>
        </details>
      )}
      <ProblemNote problem={saving.problem} />
      <div class="buttons">
        <Button type="submit" kind="primary" busy={saving.busy} disabled={tooLong !== null}>
          {agent === null ? "Add stage" : "Save"}
        </Button>
        <Button onClick={onBack}>Back</Button>
      </div>
    </Form>
  );
}

/** Return the place of a stage once its class was chosen: the class has one, a model needs one. */
function placeFor(agent: string, position: string, added: boolean | null | undefined): string {
  if (!added) return position;
  return agent ? "" : position || "after writer";
}

/** Return the places of an added stage: after each other stage, and where it is now. */
function positions(
  stages: readonly string[],
  current: string,
  ofClass: boolean,
): (readonly [string, string])[] {
  const after = stages.map((stage) => `after ${stage}`);
  const all = after.includes(current) || current === "" ? after : [current, ...after];
  const named = all.map((each) => [each, each[0]!.toUpperCase() + each.slice(1)] as const);
  return ofClass ? [["", "Where the class says"], ...named] : named;
}
