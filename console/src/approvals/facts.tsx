// What else is known of a question: effect, cost, who asks, which run, and what happens if nobody answers.

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
          {card.cost_usd === null ? "the tool does not say" : `about ${money(card.cost_usd)}`}
        </dd>
      </div>
      <div>
        <dt>Asked</dt>
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
        <dt>If nobody answers</dt>
        <dd>
          {card.expires_at
            ? (
              <>
                it counts as a no <Until at={card.expires_at} />
              </>
            )
            : "the run waits until somebody does"}
        </dd>
      </div>
    </dl>
  );
}
