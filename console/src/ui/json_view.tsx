// Text and JSON as they are: selectable, with hidden characters shown, and a copy button.

import { exact, exactJson } from "../formats.ts";
import { Copy } from "./copy.tsx";

interface LabelProps {
  /** The accessible name. */
  readonly label: string;
}

export function JsonView({ value, label }: LabelProps & { value: unknown }) {
  const json = exactJson(value);
  return <Copyable shown={json} copied={json} label={label} />;
}

export function TextView({ text, label }: LabelProps & { text: string }) {
  return <Copyable shown={exact(text)} copied={text} label={label} />;
}

function Copyable({ shown, copied, label }: LabelProps & { shown: string; copied: string }) {
  return (
    <div class="json">
      {/* A scrollable area has to be reachable by key. */}
      <pre dir="auto" tabIndex={0} role="group" aria-label={label}>{shown}</pre>
      <Copy text={copied} what={label} />
    </div>
  );
}
