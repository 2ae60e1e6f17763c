"""Ctrl-C in a script that uses ``run_sync``: the run is paused, as by the command line, and can be resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leadhand import Leadhand
from leadhand.core.run import RunStatus

SCRIPT = """
import asyncio, sys
from leadhand import Leadhand, tool

@tool(timeout=600)
async def measure_tool(place: str) -> str:
    "Measure the noise at a place."
    print("measuring", flush=True)
    await asyncio.Event().wait()

def main():
    lead = Leadhand(model="offline", home=sys.argv[1], tools=[measure_tool])
    try:
        lead.run_sync("Measure the noise in Rome")
    except KeyboardInterrupt as interrupt:
        print(interrupt, flush=True)
        sys.exit(130)

async def notebook():  # asyncio.run would handle the signal, and a notebook does not
    main()

asyncio.new_event_loop().run_until_complete(notebook()) if sys.argv[2] == "notebook" else main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["script", "notebook"])
async def test_ctrl_c_pauses_the_run_and_says_how_to_resume_it(tmp_path: Path, where: str) -> None:
    home = tmp_path / "home"
    # Not forked by a fork server: the handlers of signals are those of a new interpreter.
    command = [sys.executable, "-c", SCRIPT, str(home), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "measuring\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)

    async with Leadhand(model="offline", home=home) as lead:
        (line,) = await (await lead.runtime()).store.runs()
        assert (line.status, line.owner, line.orphan) == (RunStatus.PAUSED, None, False), err
    assert process.returncode == 130, err
    assert f"resume_sync({line.run_id!r})" in out
    assert f"leadhand runs resume {line.run_id}" in out
