// The approvals on the screen. None moves another: a new one comes last, and an answered one keeps its place.

import { useRef } from "preact/hooks";
import { exact, shortened } from "../formats.ts";
import type { ApprovalCard } from "../wire.ts";

export interface Kept {
  readonly card: ApprovalCard;
  /** False once it is answered, here or elsewhere. */
  readonly open: boolean;
}

/** Return what to show for the approvals that are open now, after what was shown before. */
export function kept(before: readonly Kept[], open: readonly ApprovalCard[]): readonly Kept[] {
  if (open.length === 0) return [];
  const byId = new Map(open.map((card) => [card.approval_id, card]));
  const shown = before.map(({ card }) => {
    const now = byId.get(card.approval_id);
    byId.delete(card.approval_id);
    return { card: now ?? card, open: now !== undefined };
  });
  const added = [...byId.values()]
    .sort((one, other) => (one.asked_at ?? "").localeCompare(other.asked_at ?? ""))
    .map((card) => ({ card, open: true }));
  return [...shown, ...added];
}

/** Keep the approvals in their places while the component exists. */
export function useKept(open: readonly ApprovalCard[]): readonly Kept[] {
  const shown = useRef<readonly Kept[]>([]);
  return shown.current = kept(shown.current, open);
}

const MAX_ARGUMENTS = 4;
const MAX_VALUE = 40;

/** Return the short arguments of a call, for its title: ": to Ann, amount 48.5"; "" without any. */
export function titleOf(args: ApprovalCard["args"]): string {
  const parts = Object.entries(args)
    .filter(([, value]) => /^(string|number|boolean)$/.test(typeof value) && value !== "")
    .filter(([, value]) => !String(value).includes("\n"))
    .map(([name, value]) => `${exact(name)} ${shortened(exact(String(value)), MAX_VALUE)}`);
  return parts.length > 0 ? `: ${parts.slice(0, MAX_ARGUMENTS).join(", ")}` : "";
}
