// More about an approval: effect, cost, who asks, the run, and what happens without an answer.

import type { ApprovalCard } from "../wire.ts";
import { exact, money } from "../formats.ts";
import { EffectMark } from "../ui/status.tsx";
import { Age, Until } from "../ui/time.tsx";

export function Facts({ card, within }: { card: ApprovalCard; within: boolean }) {
  return (
    <dl class="facts">
      <div>
        <dt>Effect</dt>
        <dd>
          <EffectMark effect={card.effect} />
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>
          {card.cost_usd === null ? "Unknown" : `About ${money(card.cost_usd)}`}
        </dd>
      </div>
      <div>
        <dt>Requested</dt>
        <dd>
          by {card.asked_for
            ? (
              <a href={`/runs/${card.run_id}?worker=${encodeURIComponent(card.asked_for)}`}>
                {card.asked_for}
              </a>
            )
            : "the run"}
          {card.asked_at && <>, {<Age at={card.asked_at} word="ago" />}</>}
        </dd>
      </div>
      {!within && (
        <div>
          <dt>Run</dt>
          <dd>
            <a href={`/runs/${card.run_id}`}>{exact(card.request)}</a>
          </dd>
        </div>
      )}
      <div>
        <dt>Expires</dt>
        <dd>
          {card.expires_at
            ? (
              <>
                <Until at={card.expires_at} />, then denied
              </>
            )
            : "Never"}
        </dd>
      </div>
    </dl>
  );
}
