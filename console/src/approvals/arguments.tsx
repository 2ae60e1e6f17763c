// The arguments of a call: each value exactly as it would be sent, and where it comes from.

import { exact, exactJson } from "../formats.ts";

interface ArgumentsProps {
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
            <pre dir="auto" tabIndex={0} role="group" aria-label={`${name}, as it would be sent`}>
              {format(value)}
            </pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Return text as it is, other values as JSON. Text that looks like another value is quoted. */
function format(value: unknown): string {
  if (typeof value !== "string") return exactJson(value);
  return /^$|^\s|\s$|^["[{]|^(-?[\d.]+|true|false|null)$/.test(value)
    ? exactJson(value)
    : exact(value);
}
