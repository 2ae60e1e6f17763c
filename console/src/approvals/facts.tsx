// More about an approval: effect, who requested it, the run, and when it expires.

import { exact } from "../formats.ts";
import { EffectMark } from "../ui/status.tsx";
import { Fact } from "../ui/fact.tsx";
import { Age, Until } from "../ui/time.tsx";
import type { ApprovalCard } from "../wire.ts";

export function Facts({ card, within }: { card: ApprovalCard; within: boolean }) {
  const requester = card.asked_for
    ? (
      <a href={`/runs/${card.run_id}?worker=${encodeURIComponent(card.asked_for)}`}>
        {card.asked_for}
      </a>
    )
    : "the run";
  return (
    <dl class="facts">
      {card.target && (
        <Fact name="Calls">
          <code>{exact(card.target)}</code>
        </Fact>
      )}
      {card.summary && <Fact name="About">{exact(card.summary)}</Fact>}
      {card.kind !== "plan" && (
        <Fact name="Effect">
          <EffectMark effect={card.effect} />
        </Fact>
      )}
      <Fact name="Requested">
        by {requester}
        {card.asked_at && <>, {<Age at={card.asked_at} word="ago" />}</>}
      </Fact>
      {card.hook_reason && (
        <Fact name="Hook">
          <code>{exact(card.hook ?? "")}</code> asks:{" "}
          <span dir="auto">{exact(card.hook_reason)}</span>
        </Fact>
      )}
      {!within && (
        <Fact name="Run">
          <a href={`/runs/${card.run_id}`}>{exact(card.request)}</a>
        </Fact>
      )}
      <Fact name="Expires">
        {card.expires_at
          ? (
            <>
              <Until at={card.expires_at} />, then denied
            </>
          )
          : "Never"}
      </Fact>
    </dl>
  );
}
