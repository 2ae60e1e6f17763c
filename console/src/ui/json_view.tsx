// JSON for people: indented, selectable, with hidden characters shown, and a copy button.

import { exactJson } from "../formats.ts";
import { Copy } from "./copy.tsx";

export interface JsonViewProps {
  readonly value: unknown;
  /** The accessible name. */
  readonly label: string;
  readonly copy?: boolean;
}

export function JsonView({ value, label, copy = true }: JsonViewProps) {
  const written = exactJson(value);
  return (
    <div class="json">
      {/* A scrollable area has to be reachable by key. */}
      <pre tabIndex={0} role="group" aria-label={label}>{written}</pre>
      {copy && <Copy text={written} what={label} />}
    </div>
  );
}
