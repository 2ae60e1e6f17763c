"""Run in the background: start a process that drives the run and outlives the terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leadhand.api import Leadhand
from leadhand.cli.errors import Exit
from leadhand.cli.options import FlowFlags, Output, StoreFlags
from leadhand.cli.terminal.messages import database_name, opening, say_table
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.cli.tool_files import is_file
from leadhand.domain.errors import LeadhandError
from leadhand.domain.state import RunState
from leadhand.runs import Run

START_TIMEOUT_S = 30.0
POLL_S = 0.05
STARTED: list[subprocess.Popen[bytes]] = []
"""Processes that outlive this one, kept so that Python does not warn that they were not waited for."""


async def run_in_background(
    lead: Leadhand,
    request: str,
    *,
    flow: FlowFlags,
    options: dict[str, Any],
    tools: Sequence[str],
    output: Output,
    store: StoreFlags,
) -> int:
    """Start a run in a new process and print its id. Raises LeadhandError if that process fails."""
    runtime = await lead.runtime()
    state = await runtime.start(request, flow=flow.flow, options=options, detached=True)
    log = runtime.settings.home / "runs" / state.run_id / "log.txt"
    say_table(
        opening(
            state.run_id,
            state.definition,
            why=runtime.choice.why,
            database=database_name(runtime),
            unpriced=runtime.choice.unpriced,
        )
    )
    await runtime.store.release(state.run_id, state.epoch)
    settings = runtime.settings
    process = _start(state, log, tools=tools, flows=store.flow_files, home=settings.home, database=settings.database)
    await _wait_for_owner(lead, state.run_id, process, log)
    if output.json:
        write_json(await Run(runtime, await runtime.load(state.run_id), drive=False).document())
    else:
        write_line(state.run_id)
    say(f"Running in the background. Follow it with: {store.command('runs', 'watch', state.run_id)}")
    return Exit.ANSWERED


def _start(
    state: RunState, log: Path, *, tools: Sequence[str], flows: Sequence[str], home: Path, database: str
) -> subprocess.Popen[bytes]:
    """Start ``leadhand runs resume`` in a session of its own, so that closing the terminal does not end it."""
    files = [("--tools", path) for path in tools] + [("--flows", path) for path in flows]
    named = [word for flag, path in files for word in (flag, os.path.abspath(path) if is_file(path) else path)]
    command = [sys.executable, "-P", "-m", "leadhand", "runs", "resume", state.run_id, *named]
    # In the environment: a command line would show a password in the database URL to other users.
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
    STARTED.append(process)
    return process


async def _wait_for_owner(lead: Leadhand, run_id: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the process has taken or finished the run. Raises LeadhandError if it does not."""
    runs = (await lead.runtime()).store
    for _ in range(round(START_TIMEOUT_S / POLL_S)):
        listing = await runs.run(run_id)
        if listing.owner is not None or not listing.orphan:
            return
        if process.poll() is not None:
            break
        await asyncio.sleep(POLL_S)
    raise LeadhandError(f"the background process did not take {run_id}", f"See {log}.")
