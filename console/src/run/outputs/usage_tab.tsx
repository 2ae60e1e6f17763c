// The Usage tab: calls, tokens, cost and time by worker, model, step and tool.

import { count, duration, money } from "../../formats.ts";
import { useFirstItems } from "../../ui/first_items.tsx";
import { workerLink } from "../selection.ts";
import type { RunStore } from "../state/store.ts";
import { type Total, totalsOf } from "./usage.ts";

export function Usage({ store }: { store: RunStore }) {
  const { workers, models, steps, tools } = totalsOf(store.view.steps.value);
  if (workers.length + tools.length === 0) return <p class="muted">No calls yet.</p>;
  return (
    <div class="usage">
      <Totals title="Workers" totals={workers} />
      <Totals title="Models" totals={models} />
      <Totals title="Steps" totals={steps} />
      <Totals title="Tools" totals={tools} isTools />
    </div>
  );
}

interface TotalsProps {
  readonly title: string;
  readonly totals: readonly Total[];
  readonly isTools?: boolean;
}

function Totals({ title, totals, isTools = false }: TotalsProps) {
  const [shown, showAll] = useFirstItems(totals, title.toLowerCase());
  if (totals.length === 0) return null;
  // The bar compares costs; of tools, and of calls without a price, it compares time.
  const priced = !isTools && totals.some((each) => each.nanousd > 0);
  const weight = (each: Total) => priced ? each.nanousd : each.ms;
  const most = Math.max(1, ...totals.map(weight));
  const cached = totals.some((each) => each.cached > 0);
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <div
        class="table-scroll"
        tabIndex={0}
        role="group"
        aria-label={`Usage by ${title.toLowerCase()}`}
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="number">Calls</th>
              {!isTools && (
                <>
                  <th scope="col" class="number">In</th>
                  {cached && <th scope="col" class="number">Cached</th>}
                  <th scope="col" class="number">Out</th>
                  <th scope="col" class="number">Cost</th>
                </>
              )}
              <th scope="col" class="number">Time</th>
              {isTools && <th scope="col" class="number">Failed</th>}
              <th scope="col">
                <span class="unseen">{priced ? "Share of the cost" : "Share of the time"}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((total) => (
              <tr key={total.key ?? total.name}>
                <th scope="row" dir="auto">
                  {total.key ? <a href={workerLink(total.key)}>{total.name}</a> : total.name}
                </th>
                <td class="number">{total.calls.toLocaleString("en")}</td>
                {!isTools && <Tokens total={total} withCached={cached} />}
                <td class="number">{duration(total.ms / 1000)}</td>
                {isTools && <td class="number">{total.failed || ""}</td>}
                <td class="share">
                  <i style={{ width: `${100 * weight(total) / most}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {showAll}
    </section>
  );
}

interface TokensProps {
  readonly total: Total;
  readonly withCached: boolean;
}

function Tokens({ total, withCached }: TokensProps) {
  const { input, cached, output, nanousd, unpriced, calls } = total;
  return (
    <>
      <td class="number">{input.toLocaleString("en")}</td>
      {withCached && <td class="number">{cached > 0 && cached.toLocaleString("en")}</td>}
      <td class="number">{output.toLocaleString("en")}</td>
      <td
        class="number"
        title={unpriced > 0 ? `${count(unpriced, "call")} of unknown cost` : undefined}
      >
        {unpriced === calls ? "Unknown" : `${unpriced > 0 ? "≥ " : ""}${money(nanousd / 1e9)}`}
      </td>
    </>
  );
}
