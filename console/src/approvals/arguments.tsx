// The arguments of a call, whole: each with its value exactly as it would be sent, and where it came from.

import { exact, exactJson } from "../formats.ts";

export interface ArgumentsProps {
  readonly args: { readonly [name: string]: unknown };
  readonly origins: { readonly [argument: string]: string };
}

export function Arguments({ args, origins }: ArgumentsProps) {
  const entries = Object.entries(args);
  if (entries.length === 0) return <p class="muted">No arguments.</p>;
  return (
    <dl class="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <code>{exact(name)}</code>
            {origins[name] && <span class="muted small">from {exact(origins[name])}</span>}
          </dt>
          <dd>
            <pre tabIndex={0} role="group" aria-label={`${name}, as it would be sent`}>
              {shown(value)}
            </pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Text as it reads, anything else as JSON; text that could be taken for something else stands in quotes. */
function shown(value: unknown): string {
  if (typeof value !== "string") return exactJson(value);
  return /^$|^\s|\s$|^["[{]|^(-?[\d.]+|true|false|null)$/.test(value)
    ? exactJson(value)
    : exact(value);
}
