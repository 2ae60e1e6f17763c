"""A home on a file system that is read-only, as ``mount -o ro`` makes it for every user: reading works."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import Any

import pytest

MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && '


def mounted(home: Any, *commands: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """Run commands where the home is mounted read-only, in a namespace of their own."""
    found: list[subprocess.CompletedProcess[str]] = []
    for command in commands:
        line = MOUNT + "exec " + shlex.join([sys.executable, "-P", "-m", "leadhand", *command])
        shell = ["unshare", "--mount", "sh", "-c", line, str(home)]
        found.append(subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False))
    return found


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
        ("doctor",),
        ("run", "--offline", "Weather in Oslo?"),
    )
    assert (listed.returncode, run_id in listed.stdout) == (0, True), listed.stderr
    assert (shown.returncode, "Weather in Paris?" in shown.stdout) == (0, True), shown.stderr
    assert (exported.returncode, exported.stdout.count("run_finished")) == (0, 1), exported.stderr
    assert "opens, schema" in doctor.stdout
    assert "no orphaned runs" in doctor.stdout
    assert "read-only for this user" in doctor.stdout
    assert ran.returncode == 6
    assert "is not writable: Read-only file system" in ran.stderr
    assert sorted(path.name for path in leadhand.home.iterdir()) == before
