import { changeOf } from "./order_change.ts";

const before = {
  key: "wo-001.2",
  name: "check_weather",
  tool: "weather_tool",
  args: { location: "Lille", day: "today" },
  needs: [] as string[],
  failure: { message: "no rain chance is given", type: "found_wanting", class: "insufficient" },
};

Deno.test("what a repair changed is told line by line", () => {
  const lines = changeOf(before, {
    name: "check_rain",
    tool: "rain_tool",
    args: { location: "Lille, Nord", units: "mm" },
    needs: ["wo-002.0"],
  });
  const wanted = [
    "does wo-001.2 again, which failed: no rain chance is given",
    "check_weather became check_rain",
    "tool weather_tool became rain_tool",
    'location: "Lille" became "Lille, Nord"',
    'day left out (it was "today")',
    'units added: "mm"',
    "now needs wo-002.0",
  ];
  if (lines.join("\n") !== wanted.join("\n")) throw new Error(lines.join("\n"));
});

Deno.test("a repair that changed nothing says so", () => {
  const { name, tool, args } = before;
  const lines = changeOf({ ...before, failure: null }, { name, tool, args });
  if (lines.join("; ") !== "does wo-001.2 again; nothing else changed") {
    throw new Error(lines.join());
  }
});
