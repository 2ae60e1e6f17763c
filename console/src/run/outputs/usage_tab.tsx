// The Usage tab: calls, tokens, cost and time by worker, model, step and tool.

import { duration, money } from "../../formats.ts";
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
      <Totals title="Tools" totals={tools} />
    </div>
  );
}

interface TotalsProps {
  readonly title: string;
  readonly totals: readonly Total[];
}

function Totals({ title, totals }: TotalsProps) {
  const [shown, showAll] = useFirstItems(totals, title.toLowerCase());
  if (totals.length === 0) return null;
  // The bar compares costs; of calls without a price, such as those of tools, it compares time.
  const priced = totals.some((each) => each.nanousd > 0);
  const weight = (each: Total) => priced ? each.nanousd : each.ms;
  const most = Math.max(1, ...totals.map(weight));
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
              {COLUMNS.map((name) => <th key={name} scope="col" class="number">{name}</th>)}
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
                {cellsOf(total).map((text, at) => <td key={at} class="number">{text}</td>)}
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

const COLUMNS = ["Calls", "Failed", "In", "Cached", "Out", "Cost", "Time"] as const;

/** Return what the columns show of a total; nothing for none. */
function cellsOf(total: Total): string[] {
  const { calls, failed, input, cached, output, nanousd, unpriced, ms } = total;
  const number = (value: number) => value > 0 ? value.toLocaleString("en") : "";
  const cost = unpriced === calls ? "Unknown" : `${unpriced ? "≥ " : ""}${money(nanousd / 1e9)}`;
  const used = input + output > 0;
  return [
    ...[calls, failed, input, cached, output].map(number),
    used ? cost : "",
    duration(ms / 1000),
  ];
}
