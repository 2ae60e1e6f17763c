import type { Entry } from "./entry.ts";
import { FilteredRows, KINDS, type LogRow, rowOf } from "./log_rows.ts";
import recorded from "./testdata/run.json" with { type: "json" };

const real = recorded.entries as unknown as Entry[];
const rows = real.map((entry) => rowOf(entry, Date.parse(entry.at)));

Deno.test("every entry of a real run is a row in words with a line about it", () => {
  for (const row of rows) {
    if (!row.words || row.words.includes("_")) throw new Error(`${row.type}: ${row.words}`);
    if (/\s\s|\n/.test(row.text)) throw new Error(`${row.type}: ${row.text}`);
    if (row.type !== "run_resumed" && !row.text && !row.subject) throw new Error(row.type);
  }
});

Deno.test("problems are what failed, was blocked, refused or found wanting", () => {
  const types = new Set(rows.filter((row) => row.problem).map((row) => row.type));
  const wanted = [
    "parts_refused",
    "tool_call_returned",
    "attempt_returned",
    "attempt_settled",
    "subtask_blocked",
    "order_reviewed",
  ];
  const missing = wanted.filter((type) => !types.has(type));
  if (missing.length || types.size !== wanted.length) throw new Error([...types].join());
});

Deno.test("rows filtered while the log grows are those filtered at its end", () => {
  const filters = [{ text: "", kinds: KINDS.problems }, { text: "BREST", kinds: 0 }, {
    text: "wo-001.8",
    kinds: KINDS.tools | KINDS.people,
  }];
  for (const filter of filters) {
    const growing = new FilteredRows();
    const log: LogRow[] = [];
    for (const row of rows) {
      log.push(row);
      growing.rows(log, filter);
    }
    const found = growing.rows(log, filter).map((row) => row.seq).join();
    const whole = new FilteredRows().rows(rows, filter).map((row) => row.seq).join();
    if (found !== whole || !whole) throw new Error(`${found} instead of ${whole}`);
  }
});

Deno.test("a filter that changes looks at every row again", () => {
  const filtered = new FilteredRows();
  const first = filtered.rows(rows, { text: "brest", kinds: 0 }).length;
  const wider = filtered.rows(rows, { text: "tool", kinds: 0 }).length;
  const again = filtered.rows(rows, { text: "brest", kinds: 0 }).length;
  if (first !== again || wider <= first) throw new Error(`${first}, ${wider}, ${again}`);
});
