import { changeOf } from "./order_change.ts";

const before = {
  key: "wo-001.2",
  name: "check_weather",
  tool: "weather_tool",
  args: { location: "Lille", day: "today" },
  needs: [] as string[],
  failure: { message: "no rain chance is given", type: "found_wanting", class: "insufficient" },
};

Deno.test("a repair says line by line what it changed", () => {
  const lines = changeOf(before, {
    name: "check_rain",
    tool: "rain_tool",
    args: { location: "Lille, Nord", units: "mm" },
    needs: ["wo-002.0"],
  });
  const wanted = [
    "Repeats wo-001.2, which failed: no rain chance is given",
    "Name: check_weather → check_rain",
    "Tool: weather_tool → rain_tool",
    'location: "Lille" → "Lille, Nord"',
    'day: removed, was "today"',
    'units: added, "mm"',
    "Needs: wo-002.0",
  ];
  if (lines.join("\n") !== wanted.join("\n")) throw new Error(lines.join("\n"));
});

Deno.test("a repair that changed nothing says so", () => {
  const { name, tool, args } = before;
  const lines = changeOf({ ...before, failure: undefined }, { name, tool, args, needs: [] });
  if (lines.join("; ") !== "Repeats wo-001.2; Nothing else changed") {
    throw new Error(lines.join());
  }
});
