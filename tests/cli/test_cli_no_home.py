"""A home or database that does not exist, as after a typo: what only reads, stops or deletes runs creates none."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

COMMANDS = (
    "backup b.db",
    "runs list --json",
    "runs show run_1",
    "runs cancel run_1",
    "runs resume run_1",
    "runs retry run_1",
    "runs prune --older-than 1d",
    "runs delete run_1",
    "approvals list",
    "approvals deny 1",
    "keys list",
    "keys revoke 1",
    "hosts list",
)


@pytest.fixture
def typo(leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.rmtree(leadhand.home)
    monkeypatch.chdir(tmp_path)
    return leadhand.home


@pytest.mark.parametrize("command", COMMANDS)
def test_a_home_that_does_not_exist_is_reported_and_not_created(leadhand: Any, typo: Path, command: str) -> None:
    result = leadhand(*command.split())
    assert (result.code, result.out) == (6, "")
    what, how = result.err.splitlines()
    assert what == f"leadhand: there is no database {typo}/leadhand.db"
    assert how.startswith("  Name another with --home DIR")
    assert list(typo.parent.iterdir()) == []


def test_doctor_reports_a_home_that_does_not_exist_and_creates_none(leadhand: Any, typo: Path) -> None:
    result = leadhand("doctor")
    assert result.code == 0
    assert f"ok    home      {typo} does not exist yet; the first run creates it" in result.out
    assert f"warn  database  there is no database {typo}/leadhand.db" in result.out
    assert list(typo.parent.iterdir()) == []


def test_a_database_that_does_not_exist_is_reported_and_not_created(leadhand: Any, tmp_path: Path) -> None:
    result = leadhand("runs", "list", "--database", str(tmp_path / "other.db"))
    assert result.code == 6
    assert f"there is no database {tmp_path}/other.db" in result.err
    assert not (tmp_path / "other.db").exists()


def test_a_key_can_be_created_before_the_first_run(leadhand: Any, typo: Path) -> None:
    assert leadhand("keys", "create", "ann").code == 0
    assert (typo / "leadhand.db").exists()
