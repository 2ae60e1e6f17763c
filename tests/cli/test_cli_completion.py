"""The completion scripts, which ask the command itself what completes a line, and real shells run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from leadhand.cli.parser import COMPLETING, LEADHAND

ASK = """
source "$1" 2>/dev/null; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
_leadhand_completion leadhand
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash_script(tmp_path: Path) -> Path:
    kind = get_completion_class("bash")
    assert kind is not None
    path = tmp_path / "leadhand.bash"
    path.write_text(kind(LEADHAND, {}, "leadhand", COMPLETING).source())
    return path


def completed(script_: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", str(script_), "leadhand", *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_flags_and_values(bash_script: Path) -> None:
    assert completed(bash_script, "re") == ["report", "research"]
    assert completed(bash_script, "runs", "re") == ["resume", "retry"]
    assert completed(bash_script, "run", "--max-s") == ["--max-steps"]
    assert completed(bash_script, "runs", "list", "--status", "pa") == ["paused", "partial"]
    assert completed(bash_script, "run", "--check", "") == ["judge", "exact", "off"]
    assert completed(bash_script, "completion", "") == ["bash", "zsh", "fish"]
    assert completed(bash_script, "run", "--tools", "t") == [], "bash then completes the names of files"
    assert completed(bash_script, "run", "--name-of-nothing", "x") == []
