// Links out of the console, to addresses that a model or a tool wrote.

import type { ComponentChildren } from "preact";

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Return whether a link may lead to `address`: an absolute http, https or mailto address. */
export function isSafe(address: string): boolean {
  try {
    return PROTOCOLS.has(new URL(address).protocol);
  } catch {
    return false; // a relative path, or not an address
  }
}

interface OuterLinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link if its address is safe, else its text alone. */
export function OuterLink({ href, children }: OuterLinkProps) {
  if (!isSafe(href)) return <>{children}</>;
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>
  );
}

/** The sources of a result. */
export function SourceList({ sources }: { sources: readonly { title: string; url: string }[] }) {
  if (sources.length === 0) return null;
  return (
    <ul class="small">
      {sources.map(({ title, url }) => (
        <li key={url + title}>
          <OuterLink href={url}>{title || url}</OuterLink>
        </li>
      ))}
    </ul>
  );
}
