# bench-peer: name=leadhand venv=leadhand durable=1 calls=1 dialect=leadhand_dialect.py label="Leadhand"
# bench-peer: name=leadhand-asking venv=leadhand durable=1 dialect=leadhand_dialect.py variant=asking
# bench-peer: name=leadhand-exact venv=leadhand durable=1 dialect=leadhand_dialect.py variant=asking-exact
# bench-peer: name=leadhand-ships venv=leadhand durable=1 calls=0 dialect=leadhand_dialect.py variant=ships
# bench-peer: name=leadhand-frozen venv=leadhand durable=1 calls=1 dialect=leadhand_dialect.py variant=frozen
# bench-peer: name=leadhand-uvloop venv=leadhand durable=1 calls=1 dialect=leadhand_dialect.py variant=uvloop
"""Leadhand in the side-by-side job: plan N look-ups, carry them out in parallel, review, compose; all of it on the log.

The settings are those of a user who knows how large the job is: as many workers as subtasks, and a model whose window
is known and whose answers may be long, so that the plan is one page. The log is as it ships: SQLite in WAL mode,
``synchronous=FULL``. A worker whose subtask names a tool calls it first and
then writes its result (``worker_calls="always"``), so it takes one model call and not two.

Variants: ``asking`` leaves the choice of the tool to each worker's model, so that it takes two calls, as those of the
other systems do; ``asking-exact`` has no model judge the answer besides, as in the other systems; ``ships`` has what a
tool returns be the result, without a model, as by default; ``frozen`` is the program that has its start-up objects left
alone by the garbage collector, in two lines of its own; ``uvloop`` has the event loop that commands use where it is
installed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import json
import os
import re
import resource
import time
from pathlib import Path
from typing import Any

from leadhand import Leadhand, Limits, tool
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports.models import ModelProfile

MODELS = {"asking": "openai_compatible:stub-2", "asking-exact": "openai_compatible:stub-2"}
"""Models of variants: the scripted model plans as its name says."""
MODEL = "openai_compatible:stub-1"
WINDOW = 400_000
TOKENS_PER_SUBTASK = 64
"""Of an answer that names every subtask, at most."""

for needed in ("aiohttp", "jsonschema_rs"):  # imported at first use else; no system's imports are part of the job
    importlib.import_module(needed)

tool_runs = 0


@tool
async def lookup(key: str) -> str:
    """Look up the value of a key."""
    global tool_runs
    tool_runs += 1
    log = os.environ.get("BENCH_TOOL_LOG")
    if log:
        with Path(log).open("a") as lines:  # noqa: ASYNC230 - one short line, as every adapter of the harness writes it
            lines.write(f"{key}\n")
    return f"value-{key}"


def leadhand(options: argparse.Namespace) -> Leadhand:
    """A lead for the job, its home in the folder that survives a kill."""
    return Leadhand(
        MODELS.get(options.variant, MODEL),
        models=OpenAICompatible(
            options.base_url,
            connections=max(options.n, 1),
            profiles=lambda name: ModelProfile(name=name, window=WINDOW, free=True),
        ),
        tools=[lookup],
        home=options.state or None,
        check="exact" if options.variant == "asking-exact" else None,
        limits=Limits(max_workers=max(options.n, 1), max_output_tokens=max(2_000, options.n * TOKENS_PER_SUBTASK)),
    )


async def job(options: argparse.Namespace) -> tuple[list[str], str]:
    """The results of the subtasks, and the answer."""
    noted = Path(options.state or ".") / "run_id"
    async with leadhand(options) as lead:
        if options.resume and noted.exists():
            run = await lead.attach(noted.read_text())
        else:
            calls = "auto" if options.variant == "ships" else "always"
            run = await lead.start(_request(options), worker_calls=calls)
            noted.write_text(run.run_id)
        state = await run.wait()
        results = [subtask.data.summary for subtask in state.steps.values() if subtask.data is not None]
        return results, state.finished.answer or "" if state.finished is not None else ""


def _request(options: argparse.Namespace) -> str:
    return f"Find the values of {options.n} keys, k0..k{options.n - 1}."


def right(results: list[str]) -> set[str]:
    """The results that say what they should."""
    return {result for result in results if re.search(r"RESULT-(\d+): value-k\1\b", result)}


def memory_mb(field: str) -> float:
    """A line of the operating system's own account, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--state", default="")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--retry", action="store_true", help="no other settings: retries are on by default")
    parser.add_argument("--variant", default="")
    options = parser.parse_args()
    if options.variant == "frozen":
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
    began, cpu, before = time.monotonic(), time.process_time(), memory_mb("VmRSS")
    results: list[str] = []
    answer = ""
    errors: list[str] = []
    try:
        run = importlib.import_module("uvloop").run if options.variant == "uvloop" else asyncio.run
        results, answer = run(job(options))
    except Exception as error:  # that the job as a whole failed is a finding
        errors.append(f"{type(error).__name__}: {str(error)[:200]}")
    took, used = time.monotonic() - began, time.process_time() - cpu
    usage = resource.getrusage(resource.RUSAGE_SELF)
    told: dict[str, Any] = {
        "results": len(right(results)),
        "final": answer[:100],
        "tool_runs": tool_runs,
        "job_s": took,
        "job_cpu_s": used,
        "t_job": began,
        "import_cpu_s": cpu,
        "rss_before_mb": before,
        "rss_after_mb": memory_mb("VmRSS"),
        "peak_rss_mb": memory_mb("VmHWM"),
        "ctx_switches": usage.ru_nvcsw + usage.ru_nivcsw,
        "errors": errors,
    }
    print(f"\n{json.dumps(told)}", flush=True)
    os._exit(0)  # the end of the interpreter is timed for nobody


if __name__ == "__main__":
    main()
