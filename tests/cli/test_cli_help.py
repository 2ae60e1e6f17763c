"""What ``--help`` shows; the reference pins the names of commands and flags, since scripts depend on them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from leadhand.cli.catalogue import COMMANDS


def test_the_help_says_what_pauses_and_what_cancels(leadhand: Any) -> None:
    assert "Pause a run" in leadhand("runs", "pause", "--help").out
    assert "Cancel a run" in leadhand("runs", "cancel", "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_is_explained(leadhand: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    result = leadhand(*command.split(), "--help-all")

    assert result.code == 0
    told: dict[str, str] = dict(re.findall(r"^  (--[a-z-]+)(.*(?:\n    .*)*)", result.out, re.MULTILINE))
    assert "--debug" in told
    assert all(len(words.split()) > 2 for words in told.values())
    narrow = [
        line for line in help_at(80, leadhand, monkeypatch, command) if not re.match(r"    (leadhand|eval) ", line)
    ]
    assert max(map(len, narrow)) <= 80
    assert not re.search(r"[│╭╰\x1b]", result.out)
    assert len(narrow) <= 40


def help_at(columns: int, leadhand: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> list[str]:
    """The help of a command on a terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    return leadhand(*command.split(), "--help").out.splitlines()


@pytest.mark.parametrize("line", [[], ["--help"], ["-h"]])
def test_help_names_every_command(leadhand: Any, line: list[str]) -> None:
    result = leadhand(*line)

    assert result.code == 0
    for word in ("run ", "serve ", "runs ", "approvals ", "tools ", "hosts ", "keys ", "doctor "):
        assert f"\n  {word}" in result.out
    assert "\n  resume " in leadhand("runs").out
