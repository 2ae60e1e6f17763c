"""What a person waits for in the console: the run screen of a finished run of 1,000 subtasks in Chromium.

    uv run python -m benchmarks.console [--subtasks N] [--times N] [--profile]

Prints medians of: the time to the first true paint (the final status, all workers and the answer are drawn), layout
shift, the longest long task and their sum, and the bytes on the wire. ``--profile`` prints what the main thread did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Browser, async_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.chromium import ARGUMENTS, executable
from browser.long_run import RUN, write_long_run
from browser.serving import Served
from server.teams import team

PATIENCE_MS = 90_000
SETTLED_MS = 1_500
TRACED = ("devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel")
OBSERVE = """
  window.seen = { tasks: [], shift: 0, true: null };
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) window.seen.tasks.push([each.startTime, each.duration]);
  }).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) window.seen.shift += each.value;
  }).observe({ type: "layout-shift", buffered: true });
  const look = () => {
    const drawn = document.querySelector(".answer .prose, article[aria-label=Answer]") &&
      document.querySelectorAll("[role=listbox] [role=option]").length >= WORKERS &&
      document.querySelector(".run-state")?.textContent.includes("Partial");
    if (drawn) requestAnimationFrame(() => setTimeout(() => window.seen.true = performance.now()));
    else setTimeout(look, 20);
  };
  addEventListener("DOMContentLoaded", look);
"""


async def measured(browser: Browser, url: str, subtasks: int, *, profile: bool) -> dict[str, Any]:
    """Open the run in a new profile, and return what was seen."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    page = await context.new_page()
    await page.add_init_script(OBSERVE.replace("WORKERS", str(subtasks)))
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    received: list[int] = []
    session.on("Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"])))
    await page.goto(f"{url}/runs")  # as somebody who comes from the list
    await page.wait_for_selector(".runs-table")
    received.clear()
    if profile:
        await session.send("Profiler.enable")
        await session.send("Profiler.setSamplingInterval", {"interval": 500})
        await session.send("Profiler.start")
    await browser.start_tracing(page=page, categories=list(TRACED))
    await page.goto(f"{url}/runs/{RUN}")
    await page.wait_for_function("window.seen?.true !== null", timeout=PATIENCE_MS)
    await page.wait_for_timeout(SETTLED_MS)  # what comes after the paint counts, too
    seen: dict[str, Any] = await page.evaluate("window.seen")
    busy = cpu_of_tasks(json.loads(await browser.stop_tracing())["traceEvents"], verbose=profile)
    if profile:
        show((await session.send("Profiler.stop"))["profile"])
    await context.close()
    tasks = [duration for _, duration in seen["tasks"]]
    return {
        "first true paint, ms": seen["true"],
        "layout shift": seen["shift"],
        "longest task, ms": max(tasks, default=0.0),
        "longest task, ms of CPU": max(busy, default=0.0),
        "long tasks": float(len(tasks)),
        "long tasks together, ms": sum(tasks),
        "bytes received": float(sum(received)),
    }


def cpu_of_tasks(events: list[dict[str, Any]], *, verbose: bool) -> list[float]:
    """Return the CPU time of each task of the page's main thread, in ms: it depends little on the load."""
    mains = {(each["pid"], each["tid"]) for each in events if each.get("args", {}).get("name") == "CrRendererMain"}
    own = [each for each in events if (each["pid"], each["tid"]) in mains and each.get("ph") == "X"]
    tasks = [each for each in own if each["name"] == "RunTask"]
    for task in sorted(tasks, key=lambda each: -each.get("tdur", 0))[: 3 * verbose]:
        end = task["ts"] + task["dur"]
        parts: Counter[str] = Counter()
        for each in own:
            if task["ts"] <= each["ts"] < end and each is not task:
                parts[each["name"]] += each.get("tdur", 0)
        within = ", ".join(f"{name} {cpu / 1000:.0f}" for name, cpu in parts.most_common(8))
        print(f"task of {task.get('tdur', 0) / 1000:.0f} ms of CPU ({task['dur'] / 1000:.0f} ms): {within}")
    return [each.get("tdur", 0) / 1000 for each in tasks]


def show(profile: dict[str, Any]) -> None:
    """Print where the main thread was, by function."""
    own: Counter[str] = Counter()
    names: dict[int, str] = {}
    for node in profile["nodes"]:
        frame = node["callFrame"]
        place = f"{frame['url'].rsplit('/', 1)[-1]}:{frame['lineNumber'] + 1}:{frame['columnNumber']}"
        names[node["id"]] = f"{frame['functionName'] or '(anonymous)'} {place}"
    for node, delta in zip(profile["samples"], profile["timeDeltas"], strict=False):
        own[names[node]] += delta
    for name, microseconds in own.most_common(25):
        print(f"{microseconds / 1000:8.1f} ms  {name}")


async def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--subtasks", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        await write_long_run(home, workers=given.subtasks, ended=True)
        async with Served(home, models=team()) as served, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
            found = [
                await measured(browser, served.url, given.subtasks, profile=given.profile) for _ in range(given.times)
            ]
            await browser.close()
    print(f"| {given.subtasks:,} subtasks, {given.times} times, load {os.getloadavg()[0]:.1f} | median | most |")
    print("|---|---:|---:|")
    for name in found[0]:
        values = [each[name] for each in found]
        digits = 3 if name == "layout shift" else 0
        print(f"| {name} | {median(values):,.{digits}f} | {max(values):,.{digits}f} |")


if __name__ == "__main__":
    asyncio.run(main())
