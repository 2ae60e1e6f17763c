// Who is here: null until the service has said so.

import { signal } from "@preact/signals";
import type { Scope, SessionDocument } from "./wire.ts";

export const session = signal<SessionDocument | null>(null);

/** Whether what needs this scope may be offered; where nothing is known yet, it is. */
export function may(scope: Scope): boolean {
  const { value } = session;
  return value === null || value.scopes.includes(scope);
}
