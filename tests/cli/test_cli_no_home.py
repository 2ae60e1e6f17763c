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
    leadhand(*command.split()).refused(f"{typo}/leadhand.db", "--home DIR", code="store")
    assert list(typo.parent.iterdir()) == []


def test_doctor_reports_a_home_that_does_not_exist_and_creates_none(leadhand: Any, typo: Path) -> None:
    found = {each["check"]: (each["level"], str(typo) in each["what"]) for each in leadhand("doctor", "--json").json}
    assert (found["home"], found["database"]) == (("ok", True), ("warn", True))
    assert list(typo.parent.iterdir()) == []


def test_a_database_that_does_not_exist_is_reported_and_not_created(leadhand: Any, tmp_path: Path) -> None:
    leadhand("runs", "list", "--database", str(tmp_path / "other.db")).refused(f"{tmp_path}/other.db", code="store")
    assert not (tmp_path / "other.db").exists()


def test_a_key_can_be_created_before_the_first_run(leadhand: Any, typo: Path) -> None:
    assert leadhand("keys", "create", "ann").code == 0
    assert (typo / "leadhand.db").exists()
