// JSON for people: indented, selectable, nothing hidden in it, and a button that copies it.

import { exactJson } from "../formats.ts";
import { Copy } from "./copy.tsx";

export interface JsonViewProps {
  readonly value: unknown;
  /** Says what this is, to those who cannot see where it stands. */
  readonly label: string;
  readonly copy?: boolean;
}

export function JsonView({ value, label, copy = true }: JsonViewProps) {
  const written = exactJson(value);
  return (
    <div class="json">
      {/* What scrolls has to be reachable by key; no landmark, since there may be many of them. */}
      <pre tabIndex={0} role="group" aria-label={label}>{written}</pre>
      {copy && <Copy text={written} what={label} />}
    </div>
  );
}
