// One tool: description, policy, arguments and schema.

import type { ToolSpec } from "../wire.ts";
import { count, duration } from "../formats.ts";
import { JsonView } from "../ui/json_view.tsx";
import { Fact } from "../ui/fact.tsx";
import { EffectMark } from "../ui/status.tsx";
import { TryTool } from "./try_tool.tsx";

const APPROVAL: { readonly [approval: string]: string } = {
  ask: "Needed for each call",
  auto: "Not needed",
  never: "All calls are refused",
};

export function ToolView({ tool, onCalled }: { tool: ToolSpec; onCalled: () => void }) {
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
      <TryTool tool={tool} onCalled={onCalled} />
      <section class="tool-part">
        <details>
          <summary class="small muted">JSON schema</summary>
          <JsonView value={tool.parameters} label={`JSON schema of ${tool.name}`} />
        </details>
      </section>
    </article>
  );
}
