// What a worker may do, and the file that says so.

import { exact, money } from "../formats.ts";
import { Copy } from "../ui/copy.tsx";
import { Fact } from "../ui/fact.tsx";

type Limits = Readonly<Record<string, number>>;

interface RightsProps {
  readonly tools: readonly string[];
  readonly toolsets?: readonly string[];
  readonly limits: Limits;
}

export function Rights({ tools, toolsets, limits }: RightsProps) {
  return (
    <>
      <Fact name="Tools">
        <Names names={tools} />
      </Fact>
      {toolsets && (
        <Fact name="Toolsets">
          <Names names={toolsets} />
        </Fact>
      )}
      <Fact name="Limits">{limitWords(limits) || "Those of the run"}</Fact>
    </>
  );
}

function Names({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <>None</>;
  return (
    <>
      {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <code>{exact(name)}</code>
        </span>
      ))}
    </>
  );
}

export function limitWords(limits: Limits): string {
  const { max_turns: turns, max_requests: calls, max_tokens: tokens, budget } = limits;
  return [
    turns !== undefined && `${turns.toLocaleString("en")} turns`,
    calls !== undefined && `${calls.toLocaleString("en")} model calls`,
    tokens !== undefined && `${tokens.toLocaleString("en")} tokens`,
    budget !== undefined && money(budget),
  ].filter(Boolean).join(", ");
}

/** A whole file, with its hidden characters visible. */
export function Source({ text }: { text: string }) {
  return (
    <div class="json">
      <pre tabIndex={0} role="group" aria-label="Whole file">{exact(text)}</pre>
      <Copy text={text} what="file" />
    </div>
  );
}
