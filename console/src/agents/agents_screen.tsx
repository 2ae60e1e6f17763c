// Agents: the roles of each flow, and the stages of the report flow in order.

import { useState } from "preact/hooks";
import { getAgents } from "../api.ts";
import { flowName } from "../formats.ts";
import { place, setQuery } from "../router.ts";
import { may } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import type { AgentClass, AgentDocument } from "../wire.ts";
import { stageOf } from "./role_change.ts";
import { RoleForm } from "./role_form.tsx";
import { RoleView } from "./roles.tsx";

export function AgentsScreen() {
  useTitle("Agents");
  const { value, problem, reload } = useLoaded(getAgents, { key: "agents" });
  const flows = Map.groupBy(value?.agents ?? [], (agent) => agent.flow);
  return (
    <div class="agents">
      <h1>Agents</h1>
      <ProblemNote problem={problem} />
      {value === null && !problem && <Waiting what="agents" />}
      {[...flows].map(([flow, agents]) => (
        <FlowRoles
          key={flow}
          flow={flow}
          agents={agents}
          classes={value?.classes ?? []}
          onChanged={reload}
        />
      ))}
    </div>
  );
}

interface FlowProps {
  readonly flow: string;
  readonly agents: readonly AgentDocument[];
  readonly classes: readonly AgentClass[];
  readonly onChanged: () => void;
}

function FlowRoles({ flow, agents, classes, onChanged }: FlowProps) {
  const [adding, setAdding] = useState(false);
  const selected = place.value.query.get("role");
  const stages = agents.map(({ name }) => stageOf(name)).filter((name) => name !== null);
  const ordered = stages.length > 0;
  const views = agents.map((agent) => (
    <RoleView
      key={agent.name}
      agent={agent}
      open={agent.name === selected}
      stages={stages.filter((stage) => stage !== stageOf(agent.name))}
      classes={classes}
      onChanged={onChanged}
    />
  ));
  return (
    <section class="roles" aria-labelledby={`roles-${flow}`}>
      <h2 id={`roles-${flow}`}>{flowName(flow)}</h2>
      <p class="muted">
        {ordered
          ? "Stages in the order in which they run. Changes apply to new reports; a report can override them."
          : "Changes apply to new runs."}
      </p>
      {ordered
        ? <ol class="stages">{views.map((view) => <li key={view.key}>{view}</li>)}</ol>
        : views}
      {ordered && may("admin") && (adding
        ? (
          <div class="panel role-body">
            <RoleForm
              agent={null}
              stages={stages}
              classes={classes}
              onSaved={(name) => {
                setAdding(false);
                setQuery({ role: name });
                onChanged();
              }}
              onBack={() => setAdding(false)}
            />
          </div>
        )
        : (
          <div>
            <Button onClick={() => setAdding(true)}>Add stage…</Button>
          </div>
        ))}
    </section>
  );
}
