// One question to a person, and the ways to answer it. (Being written.)

import type { Card } from "../api.ts";

export interface ApprovalCardProps {
  readonly card: Card;
  /** Called once the question is answered (or turned out not to be open any more). */
  readonly onDone: () => void;
}

export function ApprovalCard({ card }: ApprovalCardProps) {
  return <article class="card">{card.tool}</article>;
}
