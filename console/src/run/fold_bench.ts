// What an entry costs the fold, in a short log and in a long one: `deno bench src/run/fold_bench.ts`, in `console/`.

import type { Entry } from "./entry.ts";
import { applyBatch } from "./fold.ts";
import { emptyModel } from "./model.ts";
import { sampleLog } from "./sample_log.ts";

for (const [length, subtasks] of [[1_250, 200], [10_000, 1_600]] as const) {
  const entries: Entry[] = sampleLog({ subtasks, seed: 4 }).slice(0, length);
  if (entries.length < length) throw new Error(`only ${entries.length} entries`);
  let next = 0;
  let model = emptyModel();
  // An iteration is an entry. A log that is folded begins anew, so that the mean is over the whole of it.
  Deno.bench(`an entry of ${length.toLocaleString("en")}`, {
    baseline: length === 1_250,
    group: "fold",
  }, () => {
    if (next >= length) {
      next = 0;
      model = emptyModel();
    }
    applyBatch(model, [entries[next]!]);
    next += 1;
  });
}
