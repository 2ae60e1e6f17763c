// One tool: what it does, takes and may cost; its last error; its schema as it is.

import type { ToolDocument, ToolError } from "../wire.ts";
import { duration } from "../formats.ts";
import { may } from "../session.ts";
import { JsonView } from "../ui/json_view.tsx";
import { EffectMark } from "../ui/status.tsx";
import { Age } from "../ui/time.tsx";
import { type Parameter, parametersOf } from "./schema.ts";
import { TryTool } from "./try_tool.tsx";

const ASKED: { readonly [approval: string]: string } = {
  ask: "a person is asked before each call",
  auto: "called without asking",
  never: "never called: every call is refused",
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
        <div>
          <dt>Effect</dt>
          <dd>
            <EffectMark effect={tool.effect} />
          </dd>
        </div>
        <div>
          <dt>Approval</dt>
          <dd>
            {tool.approval
              ? ASKED[tool.approval]
              : tool.effect === "once"
              ? "as the run says: a person is asked, unless it was started otherwise"
              : "called without asking"}
          </dd>
        </div>
        <div>
          <dt>Time-out</dt>
          <dd>
            {tool.timeout_s === null ? "none of its own" : duration(tool.timeout_s)}, {tool.retries}
            {tool.retries === 1 ? " retry" : " retries"}
          </dd>
        </div>
        <div>
          <dt>From</dt>
          <dd>
            <code>{tool.import_path}</code>
            {tool.toolset && <>, toolset {tool.toolset}</>}
          </dd>
        </div>
      </dl>
      {tool.last_error && <LastError error={tool.last_error} />}
      <section class="tool-part">
        <h3>What it takes</h3>
        {parameters.length === 0
          ? <p class="muted">Nothing.</p>
          : <Parameters parameters={parameters} />}
        <details>
          <summary class="small muted">The schema as JSON</summary>
          <JsonView value={tool.parameters} label={`The schema of ${tool.name}`} />
        </details>
      </section>
      {may("run") && <TryTool tool={tool} parameters={parameters} onCalled={onCalled} />}
    </article>
  );
}

function LastError({ error }: { error: ToolError }) {
  return (
    <section class="tool-part">
      <h3>Its last error</h3>
      <p>
        <span class="tone-bad">
          <span aria-hidden="true">▲</span> {error.type}
        </span>
        <span class="muted">
          {error.class && ` (${error.class})`}, <Age at={error.at} word="ago" />
          {error.run_id
            ? (
              <>
                , in <a href={`/runs/${error.run_id}`}>this run</a>
              </>
            )
            : ", tried by hand"}
        </span>
      </p>
      <p>{error.message}</p>
    </section>
  );
}

function Parameters({ parameters }: { parameters: readonly Parameter[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="group" aria-label="Parameters">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">If not given</th>
            <th scope="col">What it is</th>
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
                  ? <strong>required</strong>
                  : parameter.preset === undefined
                  ? <span class="muted">left out</span>
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
