// The session: null until the service has answered.

import { signal } from "@preact/signals";
import type { Scope, SessionDocument } from "./wire.ts";

export const session = signal<SessionDocument | null>(null);

/** Return whether to offer actions that need this scope; true until the session is known. */
export function may(scope: Scope): boolean {
  const { value } = session;
  return value === null || value.scopes.includes(scope);
}

/** Show the login screen: the person logged out, or the key was revoked. */
export function endSession(): void {
  const { value } = session;
  if (value) session.value = { ...value, authenticated: false, name: null, scopes: [] };
}
