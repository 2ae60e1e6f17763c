// Tools: the list, and one tool in detail.

import { get } from "../api.ts";
import { blurFocused, moveFocus, useShortcuts } from "../keys.ts";
import { EffectMark } from "../ui/status.tsx";
import { useLoaded } from "../ui/loading.ts";
import { ProblemNote } from "../ui/problem_note.tsx";
import { useTitle } from "../ui/title.ts";
import { Waiting } from "../ui/waiting.tsx";
import type { ToolSpec } from "../wire.ts";
import { ToolView } from "./tool_view.tsx";

export function ToolsScreen({ name }: { name: string | null }) {
  useTitle(name ?? "Tools");
  const { value, problem, reload } = useLoaded((options) => get("/api/tools", {}, options), {
    key: "tools",
  });
  useToolShortcuts();
  const tools = value?.tools ?? [];
  const selected = tools.find((tool) => tool.name === name);
  return (
    <div class="tools">
      <h1>{name === null ? "Tools" : <a href="/tools" class="up">Tools</a>}</h1>
      <ProblemNote problem={problem} />
      {value === null && !problem && <Waiting what="tools" />}
      {value !== null && (
        <div class={name === null ? "tools-all" : "tools-two"}>
          <ToolList tools={tools} selected={name} />
          {name !== null && (selected
            ? <ToolView key={selected.name} tool={selected} onCalled={reload} />
            : (
              <section class="empty">
                <h2>
                  Tool <code>{name}</code> not found
                </h2>
                <p class="muted">
                  It may have been renamed, or this service runs without it.
                </p>
              </section>
            ))}
        </div>
      )}
    </div>
  );
}

function ToolList(
  { tools, selected }: { tools: readonly ToolSpec[]; selected: string | null },
) {
  return (
    <nav aria-label="All tools" class="tool-list">
      <ul>
        {tools.map((tool) => (
          <li key={tool.name}>
            <a
              href={`/tools/${encodeURIComponent(tool.name)}`}
              aria-current={tool.name === selected ? "page" : undefined}
            >
              <code>{tool.name}</code>
              <EffectMark effect={tool.effect} explained={false} />
              <span class="about small muted">{tool.description.split("\n")[0]}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function useToolShortcuts(): void {
  useShortcuts("Tools", {
    j: { label: "Next tool", action: () => moveFocus(".tool-list a", 1) },
    k: { label: "Previous tool", action: () => moveFocus(".tool-list a", -1) },
    Escape: { label: "Leave the field", action: blurFocused },
  });
}
