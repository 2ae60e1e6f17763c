import assert from "node:assert/strict";
import { changeOf } from "./order_change.ts";

const before = {
  key: "wo-001.2",
  name: "check_weather",
  tool: "weather_tool",
  args: { location: "Lille", day: "today" },
  needs: [] as string[],
  failure: { message: "no rain chance is given", type: "found_wanting", class: "insufficient" },
};

Deno.test("each change of a repair is a line", () => {
  const lines = changeOf(before, {
    name: "check_rain",
    tool: "rain_tool",
    args: { location: "Lille, Nord", units: "mm" },
    needs: ["wo-002.0"],
  });
  assert.deepEqual(lines, [
    "Repeats wo-001.2, which failed: no rain chance is given",
    "Name: check_weather → check_rain",
    "Tool: weather_tool → rain_tool",
    'location: "Lille" → "Lille, Nord"',
    'day: removed, was "today"',
    'units: added, "mm"',
    "Needs: wo-002.0",
  ]);
});

Deno.test("a repair without changes says so", () => {
  const { name, tool, args } = before;
  const lines = changeOf({ ...before, failure: undefined }, { name, tool, args, needs: [] });
  assert.deepEqual(lines, ["Repeats wo-001.2", "Nothing else changed"]);
});
