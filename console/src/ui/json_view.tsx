// JSON for people: indented, selectable, with hidden characters shown, and a copy button.

import { exactJson } from "../formats.ts";
import { Copy } from "./copy.tsx";

interface JsonViewProps {
  readonly value: unknown;
  /** The accessible name. */
  readonly label: string;
}

export function JsonView({ value, label }: JsonViewProps) {
  const json = exactJson(value);
  return (
    <div class="json">
      {/* A scrollable area has to be reachable by key. */}
      <pre tabIndex={0} role="group" aria-label={label}>{json}</pre>
      <Copy text={json} what={label} />
    </div>
  );
}
