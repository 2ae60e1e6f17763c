"""Interrupted, terminated, killed: nothing finished is lost, nothing finished is done again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

import pytest
import uvloop
from processes import Process

from leadhand.cli.dispatch import _fast_loop

WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None; from leadhand.cli.app import main; sys.exit(main())"
BEGINS = """
import gc, sys
from leadhand.cli.app import main

before = gc.set_threshold
gc.set_threshold = lambda *numbers: print(before(*numbers), flush=True)  # the first that the command does
sys.exit(main())
"""
REQUEST = "Measure the noise in Paris, London and Rome"
"""Paris and London are measured at once; Rome waits until the gate is open."""
NEVER_PARKS = """
import asyncio, sys
from leadhand.api import Run
from leadhand.cli.app import main

async def never(self, reason=""):
    print("parking", file=sys.stderr, flush=True)
    await asyncio.Event().wait()

Run.pause = never
sys.exit(main())
"""


def interrupted(leadhand: Any, number: signal.Signals, **options: Any) -> tuple[int, str, str]:
    """A run that got this signal once two of its three subtasks were finished."""
    process = leadhand.start("run", "--offline", "--tools", leadhand.tools, REQUEST, **options)
    leadhand.wait(lambda: leadhand.calls["Rome"] == 1, "the call in Rome")
    leadhand.wait(lambda: leadhand.listing()["completed"] == 2, "Paris and London")
    process.send_signal(number)
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_parks_the_run_and_resuming_does_only_what_is_missing(leadhand: Any, number: signal.Signals) -> None:
    code, out, err = interrupted(leadhand, number)

    run = leadhand.listing()
    resume = f"leadhand runs resume {run['run_id']} --tools {leadhand.tools}"
    assert (code, out) == (130, "")
    assert "Ctrl-C" in err
    assert err.splitlines()[-1].endswith(resume)
    assert (run["status"], run["owner"], run["orphan"]) == ("paused", None, False)

    leadhand.open_gate()
    result = leadhand(*resume.split()[1:])
    assert result.code == 0
    assert all(f"{place}: 40 dB" in result.out for place in ("Paris", "London", "Rome"))
    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 2}


def test_a_command_uses_the_loop_of_uvloop_only_where_it_is_installed(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _fast_loop() is uvloop.new_event_loop

    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _fast_loop() is None
    code, _, err = interrupted(leadhand, signal.SIGINT, program=("-c", WITHOUT_UVLOOP))
    assert (code, leadhand.listing()["status"]) == (130, "paused"), err


def test_after_kill_9_the_run_is_an_orphan_and_resuming_does_only_what_is_missing(leadhand: Any) -> None:
    code, _, _ = interrupted(leadhand, signal.SIGKILL)

    run_id = leadhand.listing()["run_id"]
    assert code == -signal.SIGKILL
    assert leadhand.listing()["orphan"] is True
    shown = leadhand("runs", "show", run_id)
    assert "wo-001.2  measure_rome · Rome" in shown.out
    watched = leadhand("runs", "watch", run_id)
    assert watched.code == 1
    resume = ["runs", "resume", run_id, "--tools", leadhand.tools]
    assert shown.command("runs resume") == watched.command("runs resume") == resume

    followed = leadhand("run", "--continue", run_id, "--tools", leadhand.tools, "And in Bonn?")
    followed.refused(f"leadhand runs resume {run_id}")

    leadhand.open_gate()
    result = leadhand("runs", "resume", run_id, "--tools", leadhand.tools)
    assert result.code == 0
    assert "Rome: 40 dB" in result.out
    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 2}


def test_a_second_interrupt_leaves_at_once(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parking is made impossible, so that only leaving is left."""
    script = leadhand.folder / "script.py"
    script.write_text(NEVER_PARKS)
    process = Process(
        [sys.executable, "-P", str(script), "run", "--offline", "--tools", leadhand.tools, REQUEST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    leadhand.started.append(process)
    leadhand.wait(lambda: leadhand.calls["Rome"] == 1, "the call in Rome")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    seen = ""
    while "parking" not in seen:
        seen = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=90)

    assert (process.returncode, out) == (130, "")
    run = leadhand.listing()
    assert (run["orphan"], f"leadhand runs resume {run['run_id']}" in err) == (True, True)


def test_a_tool_that_the_run_needs_has_to_be_brought_along(leadhand: Any) -> None:
    interrupted(leadhand, signal.SIGINT)
    run_id = leadhand.listing()["run_id"]

    leadhand("runs", "resume", run_id).refused("measure_tool", code="configuration")
    assert leadhand.listing()["status"] == "paused"


@pytest.mark.parametrize("after_s", [0.005, 0.03, 0.1, 0.3, 0.8])
def test_an_interrupt_is_quiet_from_the_first_millisecond(leadhand: Any, after_s: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINS, "run", "--offline", "Weather in Paris, Rome and Oslo?"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=90)[1]

    assert "Traceback" not in err, err
    assert process.returncode in (130, 0)
