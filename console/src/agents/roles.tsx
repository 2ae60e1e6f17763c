// Roles and stages: their models and instructions; an admin sets them for later runs.

import type { Ref } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { setAgent, unsetAgent } from "../api.ts";
import type { AgentClass, AgentDocument } from "../wire.ts";
import { Markdown } from "../markdown.tsx";
import { setQuery } from "../router.ts";
import { may } from "../session.ts";
import { announce } from "../ui/announce.tsx";
import { Button, useAction } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { ProblemNote } from "../ui/problem_note.tsx";
import { Age } from "../ui/time.tsx";
import { bodyOf, fieldsOf, GIVES, stageOf } from "./role_change.ts";
import { RoleForm } from "./role_form.tsx";

interface RoleProps {
  readonly agent: AgentDocument;
  readonly open: boolean;
  /** The stages beside which an added one can be placed. */
  readonly stages: readonly string[];
  readonly classes: readonly AgentClass[];
  /** Called once the role was changed or reset. */
  readonly onChanged: () => void;
}

export function RoleView({ agent, open, stages, classes, onChanged }: RoleProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const [editing, setEditing] = useState(false);
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
    <details ref={details} class={`panel role${agent.off ? " off" : ""}`} open={open}>
      <summary
        onClick={(event) => {
          event.preventDefault(); // the URL holds what is open
          setQuery({ role: open ? null : agent.name });
        }}
      >
        <strong>{stageOf(agent.name) ?? agent.name}</strong>
        <span>{agent.role}</span>
        {agent.off && <span class="badge">Off</span>}
        <code class="muted">{agent.model}</code>
        {agent.changed && (
          <span class="badge">
            {agent.added ? "added" : "changed"} by {agent.changed.by || "unknown"},{" "}
            <Age at={agent.changed.at} word="ago" />
          </span>
        )}
      </summary>
      <div class="role-body">
        {editing
          ? (
            <RoleForm
              agent={agent}
              stages={stages}
              classes={classes}
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
              <StageFacts agent={agent} classes={classes} />
              {may("admin") && (
                <Actions
                  agent={agent}
                  editRef={edit}
                  onEdit={() => setEditing(true)}
                  onChanged={onChanged}
                />
              )}
            </>
          )}
      </div>
    </details>
  );
}

interface FactsProps {
  readonly agent: AgentDocument;
  readonly classes: readonly AgentClass[];
}

/** What an added stage returns and may call, where it stands, and the class of a stage that has one. */
function StageFacts({ agent, classes }: FactsProps) {
  const { added, before, after, gives, tools } = agent;
  const source = classes.find(({ name }) => name === agent.agent)?.source;
  const code = agent.agent && `Class ${agent.agent}${source ? ` from ${source}` : ""}`;
  if (!added) return code ? <p class="muted small">{code}</p> : null;
  const words = GIVES.filter(([name]) => gives?.includes(name)).map(([, word]) => word);
  return (
    <p class="muted small">
      {before ? `Before ${before}` : `After ${after}`} · Result: {words.join(", ").toLowerCase()}
      {tools && tools.length > 0 && ` · Tools: ${tools.join(", ")}`}
      {code && ` · ${code}`}
    </p>
  );
}

interface ActionsProps {
  readonly agent: AgentDocument;
  readonly editRef: Ref<HTMLButtonElement>;
  readonly onEdit: () => void;
  readonly onChanged: () => void;
}

function Actions({ agent, editRef, onEdit, onChanged }: ActionsProps) {
  const [resetting, setResetting] = useState(false);
  const name = stageOf(agent.name) ?? agent.name;
  const switching = useAction(async () => {
    const body = bodyOf(fieldsOf(agent), agent.ships, { added: agent.added, off: !agent.off });
    if (Object.keys(body).length > 0) await setAgent(agent.name, body);
    else await unsetAgent(agent.name);
    announce(`Switched ${name} ${agent.off ? "on" : "off"} for new reports`);
    onChanged();
  });
  const canSwitch = agent.added || agent.name === "report.reviewer";
  return (
    <>
      <ProblemNote problem={switching.problem} />
      <div class="buttons">
        <Button buttonRef={editRef} label={`Edit ${agent.name}`} onClick={onEdit}>Edit</Button>
        {canSwitch && (
          <Button
            busy={switching.busy}
            label={`Switch ${agent.off ? "on" : "off"} ${agent.name}`}
            onClick={switching.run}
          >
            {agent.off ? "Switch on" : "Switch off"}
          </Button>
        )}
        {agent.changed && (
          <Button
            label={`${agent.added ? "Remove" : "Reset"} ${agent.name}`}
            onClick={() => setResetting(true)}
          >
            {agent.added ? "Remove…" : "Reset…"}
          </Button>
        )}
      </div>
      {resetting && (
        <Confirm
          title={`${agent.added ? "Remove" : "Reset"} ${name}?`}
          action={agent.added ? "Remove" : "Reset"}
          onConfirm={async () => {
            await unsetAgent(agent.name);
            announce(agent.added ? `Removed ${name}` : `Reset ${name} to its defaults`);
            onChanged();
          }}
          onClose={() => setResetting(false)}
        >
          <p>
            {agent.added
              ? "New reports leave the stage out. Existing runs keep what they started with."
              : "The model and the instructions return to their defaults. Existing runs keep what they started with."}
          </p>
        </Confirm>
      )}
    </>
  );
}
