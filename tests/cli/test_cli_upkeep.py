"""``leadhand runs delete``, ``runs prune`` and ``backup``."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest


def answered(leadhand: Any, *flags: str) -> str:
    """The id of a run that is over."""
    result = leadhand("run", "--offline", "--json", *flags, "Weather in Paris?")
    assert result.code == 0, result.err
    return result.json["run_id"]


def runs(leadhand: Any) -> set[str]:
    return {each["run_id"] for each in leadhand("runs", "list", "--json").json}


def test_a_run_is_deleted_with_its_files(leadhand: Any) -> None:
    first, second = answered(leadhand), answered(leadhand)
    assert (leadhand.home / "runs" / first).is_dir()

    assert leadhand("runs", "delete", first).code == 0
    assert runs(leadhand) == {second}
    assert not (leadhand.home / "runs" / first).exists()
    assert (leadhand.home / "runs" / second).is_dir()
    leadhand("runs", "delete", first).refused(first, code="no_such_run")


def test_a_run_that_has_not_finished_is_deleted_only_with_yes(leadhand: Any) -> None:
    waiting = leadhand("run", "--offline", "--tools", leadhand.tools, "--json", "Pay 20 to Bob").json["run_id"]

    leadhand("runs", "delete", waiting).refused(f"leadhand runs cancel {waiting}")
    assert runs(leadhand) == {waiting}

    assert leadhand("runs", "delete", waiting, "--yes").code == 0
    assert runs(leadhand) == set()
    assert leadhand("approvals", "list", "--json").json == []


@pytest.mark.parametrize("damage", ["UPDATE events SET body = '{'", "DELETE FROM runs"])
def test_a_damaged_run_is_deleted(leadhand: Any, damage: str) -> None:
    run_id = answered(leadhand)
    with sqlite3.connect(leadhand.home / "leadhand.db") as database:
        database.execute(damage)

    assert leadhand("runs", "delete", run_id).code == 0
    assert leadhand("doctor").code == 0
    assert runs(leadhand) == set()


def test_prune_deletes_what_finished_long_ago_and_nothing_else(leadhand: Any) -> None:
    old, new = answered(leadhand), answered(leadhand)
    waiting = leadhand("run", "--offline", "--tools", leadhand.tools, "--json", "Pay 20 to Bob").json["run_id"]
    days = 31 * 86_400_000_000
    with sqlite3.connect(leadhand.home / "leadhand.db") as database:
        for run_id in (old, waiting):
            database.execute(
                "UPDATE runs SET created_at = created_at - ?, finished_at = finished_at - ? WHERE run_id = ?",
                (days, days, run_id),
            )

    listed = leadhand("runs", "prune", "--older-than", "30d", "--dry-run")
    assert (listed.code, old in listed.out, new in listed.out) == (0, True, False)
    assert runs(leadhand) == {old, new, waiting}

    assert leadhand("runs", "prune", "--older-than", "30d").code == 0
    assert runs(leadhand) == {new, waiting}
    assert not (leadhand.home / "runs" / old).exists()
    for age in ("30d", "99999999999w"):  # of any length
        assert leadhand("runs", "prune", "--older-than", age).code == 0
    assert runs(leadhand) == {new, waiting}


def test_a_backup_can_be_looked_into(leadhand: Any) -> None:
    run_id = answered(leadhand)
    copy = leadhand.folder / "copy.db"

    result = leadhand("backup", str(copy))

    assert (result.code, result.out) == (0, f"{copy}\n")
    assert [each["run_id"] for each in leadhand("runs", "list", "--json", "--database", str(copy)).json] == [run_id]
    assert leadhand("runs", "show", run_id, "--database", str(copy)).code == 0
    leadhand("backup", str(copy)).refused(str(copy))


def test_runs_are_found_and_sorted(leadhand: Any) -> None:
    first = answered(leadhand, "--name", "Nightly check", "--tag", "team=data")
    second = answered(leadhand, "--tag", "team=ops")
    shown = leadhand("runs", "show", second, "--json").json
    assert (shown["name"], shown["tags"]) == ("", {"team": "ops"})
    leadhand("run", "--offline", "--tag", "team=a\x07", "Weather in Paris?").refused("team")

    def listed(*flags: str) -> list[str]:
        return [run["run_id"] for run in leadhand("runs", "list", "--json", *flags).json]

    assert listed("--tag", "team=data") == listed("--search", "nightly") == [first]
    assert listed("--search", "nowhere") == []
    assert listed("--search", "wo-001.0") == [], "all runs have such a subtask: its key is not part of a run's text"
    assert listed("--sort", "created") == [second, first]
    assert listed("--flow", "report") == []
    assert set(listed("--sort", "duration")) == {first, second}


def test_prune_keeps_the_newest_runs_and_what_the_project_keeps(
    leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = (answered(leadhand) for _ in range(3))
    (tmp_path / "leadhand.toml").write_text("[retention]\nkeep_runs = 2\n")
    for flags, left in (
        (("--dry-run",), {first, second, third}),
        (("--older-than", "30d"), {first, second, third}),
        ((), {second, third}),
        (("--keep-runs", "1"), {third}),
    ):
        assert leadhand("runs", "prune", *flags).code == 0
        assert runs(leadhand) == left
    (tmp_path / "leadhand.toml").write_text('[retention]\nkeep_for = "soon"\n')
    leadhand("runs", "prune").refused("soon", code="configuration")
