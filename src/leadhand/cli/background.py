"""Run in the background: start a process that drives the run and outlives the terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from leadhand.api import Leadhand
from leadhand.app.project.source_files import is_file
from leadhand.app.settings import Settings
from leadhand.cli.dispatch import Exit
from leadhand.cli.options import NO_PROJECT, Output, StoreFlags, sources_given
from leadhand.cli.terminal.messages import say_opening
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.core.errors import LeadhandError
from leadhand.core.state import RunState
from leadhand.ports import ContextStore

START_TIMEOUT_S = 30.0
POLL_S = 0.05
STARTED: list[subprocess.Popen[bytes]] = []
"""Processes that outlive this one, kept so that Python does not warn that they were not waited for."""


async def run_in_background(
    lead: Leadhand, state: RunState, *, tools: Sequence[str], output: Output, store: StoreFlags
) -> int:
    """Hand a new run over to a host or a new process and print its id. Raises LeadhandError if that process fails."""
    runtime = await lead.runtime()
    say_opening(runtime, state.run_id, state.definition)
    await runtime.store.release(state.run_id, state.epoch)
    if runtime.cluster is not None and await runtime.cluster.has_hosts():
        await runtime.cluster.hand_over(state.run_id)
    else:
        log = runtime.settings.home / "runs" / state.run_id / "log.txt"
        files = [*_named("--tools", tools), *_named("--flows", store.flows), *_named("--agent", store.agent)]
        files += _named("--hooks", store.hooks)
        files += [word for kind, named in sources_given(store) for word in (f"--{kind}", named)]
        project = runtime.settings.project
        files += ["--project", NO_PROJECT if project is None else str(project.path)]
        process = _start(state.run_id, log, runtime.settings, files)
        await _wait_for_owner(runtime.store, state.run_id, process, log)
    if output.json:
        write_json((await runtime.document(state.run_id)).as_json())
    else:
        write_line(state.run_id)
    say(f"Running in the background. Follow it with: {store.command('runs', 'watch', state.run_id)}")
    return Exit.ANSWERED


def _named(flag: str, files: Iterable[str]) -> Iterator[str]:
    for name in files:
        yield from (flag, os.path.abspath(name) if is_file(name) else name)


def _start(run_id: str, log: Path, settings: Settings, flags: Iterable[str]) -> subprocess.Popen[bytes]:
    """Start ``leadhand runs resume`` in a session of its own, so that closing the terminal does not end it."""
    command = [sys.executable, "-P", "-m", "leadhand", "runs", "resume", run_id, *flags]
    # In the environment: a command line would show a password in the database URL to other users.
    place = {"LEADHAND_HOME": os.path.abspath(settings.home), "LEADHAND_DATABASE_URL": settings.database}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as writer:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env={**os.environ, **place},
            start_new_session=True,
        )
    STARTED.append(process)
    return process


async def _wait_for_owner(runs: ContextStore, run_id: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the process has taken or finished the run. Raises LeadhandError if it does not."""
    for _ in range(round(START_TIMEOUT_S / POLL_S)):
        listing = await runs.run(run_id)
        if listing.owner is not None or not listing.orphan:
            return
        if process.poll() is not None:
            break
        await asyncio.sleep(POLL_S)
    raise LeadhandError(f"the background process did not take {run_id}", f"See {log}.")
