// One tool: description, policy, arguments and schema.

import type { ToolDocument } from "../wire.ts";
import { count, duration } from "../formats.ts";
import { may } from "../session.ts";
import { JsonView } from "../ui/json_view.tsx";
import { Fact } from "../ui/fact.tsx";
import { EffectMark } from "../ui/status.tsx";
import { type Parameter, parametersOf } from "./schema.ts";
import { TryTool } from "./try_tool.tsx";

const APPROVAL: { readonly [approval: string]: string } = {
  ask: "Needed for each call",
  auto: "Not needed",
  never: "All calls are refused",
};

export function ToolView({ tool, onCalled }: { tool: ToolDocument; onCalled: () => void }) {
  const parameters = parametersOf(tool.parameters);
  return (
    <article class="tool" aria-labelledby="tool-title">
      <h2 id="tool-title">
        <code>{tool.name}</code>
      </h2>
      <p class="tool-about">{tool.description}</p>
      <dl class="facts">
        <Fact name="Effect">
          <EffectMark effect={tool.effect} />
        </Fact>
        <Fact name="Approval">
          {tool.approval
            ? APPROVAL[tool.approval]
            : tool.effect === "once"
            ? "Needed, unless the run allows it"
            : "Not needed"}
        </Fact>
        <Fact name="Timeout">
          {tool.timeout_s === null ? "None" : duration(tool.timeout_s)},{" "}
          {count(tool.retries, "retry", "retries")}
        </Fact>
        <Fact name="Source">
          <code>{tool.import_path}</code>
          {tool.toolset && <>, toolset {tool.toolset}</>}
        </Fact>
      </dl>
      <section class="tool-part">
        <h3>Arguments</h3>
        {parameters.length === 0
          ? <p class="muted">None.</p>
          : <Parameters parameters={parameters} />}
        <details>
          <summary class="small muted">JSON schema</summary>
          <JsonView value={tool.parameters} label={`JSON schema of ${tool.name}`} />
        </details>
      </section>
      {may("run") && <TryTool tool={tool} parameters={parameters} onCalled={onCalled} />}
    </article>
  );
}

function Parameters({ parameters }: { parameters: readonly Parameter[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label="Arguments">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Default</th>
            <th scope="col">Description</th>
          </tr>
        </thead>
        <tbody>
          {parameters.map((parameter) => (
            <tr key={parameter.name}>
              <th scope="row">
                <code>{parameter.name}</code>
              </th>
              <td>
                {parameter.type}
                {parameter.bounds && <span class="muted">, {parameter.bounds}</span>}
              </td>
              <td>
                {parameter.required
                  ? <strong>Required</strong>
                  : parameter.preset === undefined
                  ? <span class="muted">None</span>
                  : <code>{JSON.stringify(parameter.preset)}</code>}
              </td>
              <td class="tool-about">{parameter.description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
