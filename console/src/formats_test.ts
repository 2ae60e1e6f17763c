// Test times, money and counts in words, and that no character stays invisible.

import assert from "node:assert/strict";
import { age, bytes, count, duration, exact, exactJson, money, shortened } from "./formats.ts";

Deno.test("durations are written as on the command line", () => {
  const durations = [0.04, 0.94, 9.94, 9.95, 42.4, 59.6, 200, 3600, 7500].map(duration);
  assert.deepEqual(durations, [
    "0.0 s",
    "0.9 s",
    "9.9 s",
    "10 s",
    "42 s",
    "1 min",
    "3 min 20 s",
    "1 h",
    "2 h 5 min",
  ]);
});

Deno.test("an age has one unit and is never negative, even if the clocks differ", () => {
  assert.deepEqual([-5000, 999, 59_999, 60_000, 3_600_000, 172_800_000].map(age), [
    "0 s",
    "0 s",
    "59 s",
    "1 min",
    "1 h",
    "2 d",
  ]);
});

Deno.test("small sums keep two significant digits", () => {
  assert.deepEqual([null, 0, 1.5, 1234.5, 0.1, 0.0999, 0.0042, 0.01, 3e-7].map(money), [
    "cost unknown",
    "$0",
    "$1.50",
    "$1,234.50",
    "$0.10",
    "$0.10",
    "$0.0042",
    "$0.01",
    "$0.0000003",
  ]);
});

Deno.test("counts, sizes and shortened texts", () => {
  assert.equal(count(1, "order"), "1 order");
  assert.equal(count(1200, "entry", "entries"), "1,200 entries");
  assert.deepEqual([0, 999, 1000, 12_340_000, 999_600].map(bytes), [
    "0 B",
    "999 B",
    "1.0 kB",
    "12 MB",
    "1.0 MB",
  ]);
  assert.equal(shortened("abc", 3), "abc");
  assert.equal(shortened("abcd", 3), "ab…");
});

Deno.test("invisible characters, and those that change the direction of writing, are escaped", () => {
  assert.equal(exact("a\u202eb\u0000c\u200b\td\n"), "a\\u{202e}b\\u{0000}c\\u{200b}\td\n");
});

Deno.test("JSON with escaped characters parses to the same value", () => {
  const value = { "k\u200b": ["\u202e", "\u{e0041}", "é\n", 1] };
  const json = exactJson(value);
  assert.ok(!/[\u200b\u202e\u{e0041}]/u.test(json));
  assert.deepEqual(JSON.parse(json), value);
});
