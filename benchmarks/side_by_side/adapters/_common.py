"""What every adapter shares: arguments, prompts, the one tool, and the JSON line at the end.

Nothing heavy is imported here, so it does not blur a peer's own import time.  An adapter that
belongs to another system need not use this file: it must accept the flags below, do the job and
print one JSON object as its last line of stdout with at least {"results": <int>, "final": <str>}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import re
import resource
import sys
import time
import traceback

T_START = time.monotonic()

ap = argparse.ArgumentParser()
ap.add_argument("--base-url", required=True, help="the stub, with /v1")
ap.add_argument("--n", type=int, required=True, help="subtasks the lead is to plan")
ap.add_argument("--state", default="", help="folder for durable state (survives a kill)")
ap.add_argument("--resume", action="store_true", help="the job in --state was killed: carry it on")
ap.add_argument("--retry", action="store_true", help="switch on the system's own documented retry facility")
ap.add_argument("--variant", default="", help="adapter-specific")
args = ap.parse_args()

os.environ["OPENAI_BASE_URL"] = args.base_url
os.environ["OPENAI_API_BASE"] = args.base_url
os.environ["OPENAI_API_KEY"] = "dummy"

MODEL = "stub-1"
LEAD = "You are the lead. Split the goal into independent subtasks, one per key."
WORKER = "You are a worker. Use the lookup tool for the key you are given, then report its value."
COMPOSER = "You are the lead. Check the workers' results and compose the final answer."
TOOL_DOC = "Look up the value of a key."

tool_runs = 0
_log = None


def plan_prompt() -> str:
    return f"@@PLAN:{args.n}@@ Find the values of keys k0..k{args.n - 1}."


def work_prompt(i: int, key: str) -> str:
    return f"@@WORK:{i}@@ Look up key {key} and report it."


def compose_prompt(results) -> str:
    return f"@@COMPOSE:{args.n}@@ Results:\n" + "\n".join(str(r) for r in results)


def lookup_value(key: str) -> str:
    """The tool itself: instant, and it leaves a line behind when BENCH_TOOL_LOG is set, so that
    side effects repeated after a crash can be counted."""
    global tool_runs, _log
    tool_runs += 1
    path = os.environ.get("BENCH_TOOL_LOG")
    if path:
        if _log is None:
            _log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(_log, f"{key}\n".encode())
    return f"value-{key}"


def good(results) -> list[str]:
    """The results that really say what they should."""
    return [r for r in results if isinstance(r, str) and re.search(r"RESULT-(\d+): value-k\1\b", r)]


def cpu() -> float:
    return time.process_time()


def peak_rss_mb() -> float:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def rss_mb() -> float:
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(job) -> None:
    """job: async () -> (results: list, final: str).  Everything heavy is imported by now."""
    t0, c0, r0 = time.monotonic(), cpu(), rss_mb()
    errors: list[str] = []
    results, final = [], ""
    try:
        results, final = asyncio.run(job())
    except BaseException as exc:  # the job as a whole failed: that is a finding
        errors.append(f"{type(exc).__name__}: {str(exc)[:200]}")
        if os.environ.get("BENCH_TRACE"):
            traceback.print_exc()
    ok = good(results)
    for r in results:
        if not isinstance(r, str) and isinstance(r, BaseException) and len(errors) < 4:
            errors.append(f"{type(r).__name__}: {str(r)[:120]}")
    ru = resource.getrusage(resource.RUSAGE_SELF)
    print(
        "\n"
        + json.dumps(
            {
                "results": len(set(ok)),
                "final": str(final)[:100],
                "tool_runs": tool_runs,
                "job_s": time.monotonic() - t0,
                "job_cpu_s": cpu() - c0,
                "t_job": t0,
                "import_cpu_s": c0,
                "rss_before_mb": r0,
                "rss_after_mb": rss_mb(),
                "peak_rss_mb": peak_rss_mb(),
                "ctx_switches": ru.ru_nvcsw + ru.ru_nivcsw,
                "errors": errors,
            }
        ),
        flush=True,
    )
    sys.stdout.flush()
    os._exit(0)  # a peer's slow interpreter shutdown is not timed
