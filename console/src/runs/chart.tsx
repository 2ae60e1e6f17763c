// A bar for each run of the list, by cost or time, the oldest on the left.

import { duration, moment, money, shortened } from "../formats.ts";
import { setQuery } from "../router.ts";
import { Button } from "../ui/button.tsx";
import type { RunLine } from "../wire.ts";

const MEASURES = ["cost", "time"] as const;
type Measure = typeof MEASURES[number];

export function RunsChart({ lines, measure }: { lines: readonly RunLine[]; measure: string }) {
  const chosen = MEASURES.find((each) => each === measure) ?? "cost";
  const bars = lines.map((line) => ({ line, value: valueOf(line, chosen) }))
    .filter(({ value }) => value !== null).toReversed();
  const most = Math.max(...bars.map(({ value }) => value!), 0);
  const words = (value: number) => chosen === "cost" ? money(value) : duration(value);
  const sum = bars.reduce((total, { value }) => total + value!, 0);
  return (
    <figure class="runs-chart panel">
      <figcaption>
        <span class="buttons">
          {MEASURES.map((each) => (
            <Button
              key={each}
              small
              pressed={each === chosen}
              onClick={() => setQuery({ chart: each })}
            >
              {each === "cost" ? "Cost" : "Time"}
            </Button>
          ))}
        </span>
        <span class="small muted">
          {bars.length} runs, {words(sum)} in all, {words(bars.length ? sum / bars.length : 0)}{" "}
          on average, at most {words(most)}
        </span>
      </figcaption>
      <div class="bars">
        {bars.map(({ line, value }) => (
          <a
            key={line.run_id}
            href={`/runs/${line.run_id}`}
            class={line.failed > 0 || line.status === "failed" ? "lost" : undefined}
            aria-label={`${shortened(line.request, 60)}: ${words(value!)}`}
            title={`${shortened(line.request, 60)}: ${words(value!)}, ${line.status}, ${
              moment(line.created_at)
            }`}
          >
            <i style={{ height: `${most > 0 ? 100 * value! / most : 0}%` }} />
          </a>
        ))}
      </div>
    </figure>
  );
}

/** Return the value of a run; null if it is not known, or the run is not over. */
function valueOf(line: RunLine, measure: Measure): number | null {
  if (line.finished_at === null) return null;
  return measure === "cost"
    ? line.cost_usd
    : (Date.parse(line.finished_at) - Date.parse(line.created_at)) / 1000;
}
