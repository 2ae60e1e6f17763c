"""A process that opens its database twice keeps its locks: what it commits survives other processes and a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import Process, run

DRIVER = """
import asyncio, sys
from leadhand import Leadhand
from leadhand.app.steering.questions import delete_runs


async def other(lead, deleting):
    if deleting:
        run = await lead.run("weather in Rome")
        await delete_runs(await lead.runtime(), [run.run_id])
    else:
        async with Leadhand(model="offline") as second:
            await second.run("weather in Rome")


async def main():
    async with Leadhand(model="offline") as lead:
        await lead.run("weather in Nice")
        await other(lead, sys.argv[1] == "deletes a run")
        print("opened twice", flush=True)
        sys.stdin.readline()
        run = await lead.run("weather in Oslo")
        print(run.run_id, flush=True)
        sys.stdin.readline()


asyncio.run(main())
"""


def listed(home: Path) -> set[str]:
    """The runs that another process finds, by their ids."""
    command = [sys.executable, "-m", "leadhand", "runs", "list", "--json", "--home", str(home)]
    found = run(command)
    assert found.returncode == 0, found.stderr
    return {run["run_id"] for run in json.loads(found.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["deletes a run", "opens its home again"])
def test_what_is_committed_after_a_second_session_survives_another_process_and_a_kill(tmp_path: Path, way: str) -> None:
    environment = {**os.environ, "LEADHAND_HOME": str(tmp_path)}
    driving = Process(
        [sys.executable, "-c", DRIVER, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert driving.stdin is not None
    assert driving.stdout is not None
    try:
        assert driving.stdout.readline() == "opened twice\n"
        before = listed(tmp_path)  # its process is the last to close the database, as far as it can tell
        print(file=driving.stdin, flush=True)
        run_id = driving.stdout.readline().strip()
        assert run_id.startswith("run_")
    finally:
        driving.send_signal(signal.SIGKILL)
        driving.communicate()

    assert listed(tmp_path) == {*before, run_id}
