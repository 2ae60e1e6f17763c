"""A home on a file system that is read-only, as ``mount -o ro`` makes it for every user: reading works."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && '
ENDED = "--- ended ---\n"
SEVERAL = f"""
import json, sys
from leadhand.cli.app import main

for arguments in json.loads(sys.argv[1]):
    code = main(arguments)
    for stream in (sys.stdout, sys.stderr):
        print(code, {ENDED!r}, sep="", end="", file=stream, flush=True)
"""
"""Commands one after another in a process, since starting one takes longer than they do."""


class Ended(NamedTuple):
    """What became of a command."""

    code: int
    out: str
    err: str


def mounted(home: Any, *commands: tuple[str, ...]) -> list[Ended]:
    """Run commands where the home is mounted read-only, in a namespace of their own."""
    line = MOUNT + "exec " + shlex.join([sys.executable, "-P", "-c", SEVERAL, json.dumps(commands)])
    shell = ["unshare", "--mount", "sh", "-c", line, str(home)]
    ran = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    outs, errs = ran.stdout.split(ENDED)[:-1], ran.stderr.split(ENDED)[:-1]
    assert len(outs) == len(errs) == len(commands), ran.stderr
    return [Ended(int(out[-1]), out[:-1], err[:-1]) for out, err in zip(outs, errs, strict=True)]


@pytest.mark.slow
def test_a_home_that_is_read_only_can_be_read(leadhand: Any) -> None:
    probe = ["unshare", "--mount", "sh", "-c", MOUNT + "true", "/tmp"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a directory read-only")
    assert leadhand("run", "--offline", "Weather in Paris?").code == 0
    run_id = leadhand.listing()["run_id"]
    before = sorted(path.name for path in leadhand.home.iterdir())

    listed, shown, exported, doctor, ran = mounted(
        leadhand.home,
        ("runs", "list"),
        ("runs", "show", run_id),
        ("runs", "export", run_id),
        ("doctor", "--json"),
        ("run", "--offline", "Weather in Oslo?"),
    )
    assert (listed.code, run_id in listed.out) == (0, True), listed.err
    assert (shown.code, "Weather in Paris?" in shown.out) == (0, True), shown.err
    assert (exported.code, exported.out.count("run_finished")) == (0, 1), exported.err
    found = {(each["check"], each["level"]) for each in json.loads(doctor.out)}
    assert {("database", "ok"), ("database", "fail"), ("runs", "ok")} <= found, "it can be read and not written"
    assert (ran.code, "Read-only file system" in ran.err) == (6, True)
    assert sorted(path.name for path in leadhand.home.iterdir()) == before
