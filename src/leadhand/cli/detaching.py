"""Runs in the background: a process of its own drives them, and outlives the terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leadhand.api import Leadhand
from leadhand.cli.console import say, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import Output, Place
from leadhand.cli.own_tools import is_file
from leadhand.cli.telling import kept_in, opening, say_table
from leadhand.domain.errors import LeadhandError
from leadhand.domain.state import RunState
from leadhand.runs import Run

TAKEN_OVER_WITHIN_S = 30.0
LOOK_EVERY_S = 0.05
LEFT_ALONE: list[subprocess.Popen[bytes]] = []
"""Processes that are meant to outlive this one: kept, so that Python does not complain that nobody waited for them."""


async def start_detached(lead: Leadhand, request: str, *, tools: Sequence[str], output: Output, place: Place) -> int:
    """Make a run, have a new process take it over, and print its id. Raises LeadhandError when that one fails."""
    runtime = await lead.runtime()
    state = await runtime.start(request, detached=True)
    log = runtime.settings.home / "runs" / state.run_id / "log.txt"
    say_table(
        opening(
            state.run_id,
            state.definition,
            why=runtime.choice.why,
            kept=kept_in(runtime),
            unpriced=runtime.choice.unpriced,
        )
    )
    await runtime.store.release(state.run_id, state.epoch)
    process = _start(state, log, tools=tools, home=runtime.settings.home, database=runtime.settings.database)
    await _taken_over(lead, state.run_id, process, log)
    if output.json:
        write_json(await Run(runtime, await runtime.load(state.run_id), drive=False).document())
    else:
        write_line(state.run_id)
    say(f"In the background. Follow it with: {place.command('runs', 'watch', state.run_id)}")
    return Exit.ANSWERED


def _start(state: RunState, log: Path, *, tools: Sequence[str], home: Path, database: str) -> subprocess.Popen[bytes]:
    """Start ``leadhand runs resume`` in a session of its own: no terminal's end reaches it."""
    named = [word for path in tools for word in ("--tools", os.path.abspath(path) if is_file(path) else path)]
    command = [sys.executable, "-P", "-m", "leadhand", "runs", "resume", state.run_id, *named]
    # In the environment, where a password in the database's URL is not for everybody to see.
    environment = {**os.environ, "LEADHAND_HOME": os.path.abspath(home), "LEADHAND_DATABASE_URL": database}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as writer:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env=environment,
            start_new_session=True,
        )
    LEFT_ALONE.append(process)
    return process


async def _taken_over(lead: Leadhand, run_id: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the process drives the run, or has already ended it."""
    store = (await lead.runtime()).store
    for _ in range(round(TAKEN_OVER_WITHIN_S / LOOK_EVERY_S)):
        listing = await store.run(run_id)
        if listing.owner is not None or not listing.orphan:
            return
        if process.poll() is not None:
            break
        await asyncio.sleep(LOOK_EVERY_S)
    raise LeadhandError(f"the background process did not take {run_id} over", f"See {log}.")
