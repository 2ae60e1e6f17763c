"""``leadhand runs delete``, ``runs prune`` and ``backup``."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.errors import Exit


def answered(leadhand: Any) -> str:
    """The id of a run that is over."""
    result = leadhand("run", "--offline", "--json", "Weather in Paris?")
    assert result.code == 0, result.err
    return result.json["run_id"]


def runs(leadhand: Any) -> set[str]:
    return {each["run_id"] for each in leadhand("runs", "list", "--json").json}


def test_a_run_is_deleted_with_its_files(leadhand: Any) -> None:
    first, second = answered(leadhand), answered(leadhand)
    assert (leadhand.home / "runs" / first).is_dir()

    result = leadhand("runs", "delete", first)

    assert (result.code, result.err) == (0, f"{first} is deleted.\n")
    assert runs(leadhand) == {second}
    assert not (leadhand.home / "runs" / first).exists()
    assert (leadhand.home / "runs" / second).is_dir()
    again = leadhand("runs", "delete", first)
    assert again.code == 2
    assert f"there is no run {first}" in again.err


def test_a_run_that_has_not_finished_is_deleted_only_with_yes(leadhand: Any) -> None:
    waiting = leadhand("run", "--offline", "--tools", leadhand.tools, "--json", "Pay 20 to Bob").json["run_id"]

    refused = leadhand("runs", "delete", waiting)
    assert refused.code == 2
    assert f"leadhand runs cancel {waiting}" in refused.err
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
    assert (listed.code, listed.err) == (0, "1 run to delete.\n")
    assert old in listed.out
    assert runs(leadhand) == {old, new, waiting}

    assert leadhand("runs", "prune", "--older-than", "30d").err == "1 run deleted.\n"
    assert runs(leadhand) == {new, waiting}
    assert not (leadhand.home / "runs" / old).exists()
    assert leadhand("runs", "prune", "--older-than", "30d").err == "0 runs deleted.\n"


def test_an_age_of_any_length_is_accepted(leadhand: Any) -> None:
    assert leadhand("runs", "prune", "--older-than", "99999999999w").err == "0 runs deleted.\n"


@pytest.mark.parametrize("run_id", ["run_", " RUN_ "])
def test_the_beginning_that_all_ids_share_names_no_run(leadhand: Any, run_id: str) -> None:
    refused = leadhand("runs", "delete", run_id)
    assert refused.code == 2
    assert "every run's id begins with 'run_'" in refused.err


@pytest.mark.parametrize("age", ["never", "30", "-1d", "", "1.5d", "3y"])
def test_an_age_that_is_none_is_refused(leadhand: Any, age: str) -> None:
    assert leadhand("runs", "prune", f"--older-than={age}").code == 2
    assert leadhand("runs", "prune").code == 2


def test_a_backup_can_be_looked_into(leadhand: Any) -> None:
    run_id = answered(leadhand)
    copy = leadhand.folder / "copy.db"

    result = leadhand("backup", str(copy))

    assert (result.code, result.out) == (0, f"{copy}\n")
    assert [each["run_id"] for each in leadhand("runs", "list", "--json", "--database", str(copy)).json] == [run_id]
    assert leadhand("runs", "show", run_id, "--database", str(copy)).code == 0
    assert leadhand("backup", str(copy)).code == 2
    assert leadhand("backup", "/no/such/folder/copy.db").code == 6


@pytest.mark.parametrize("name", [".", "", "/"])
def test_a_backup_needs_the_name_of_a_file(leadhand: Any, name: str) -> None:
    refused = leadhand("backup", name)
    assert refused.code == Exit.USAGE
    assert refused.err.splitlines() == [
        f"leadhand: {name or '.'} is a directory",
        "  Name a file that does not exist: backup.db.",
    ]


def test_a_home_is_moved_to_another_database(leadhand: Any) -> None:
    run_id = answered(leadhand)
    target = f"sqlite:///{leadhand.folder / 'new.db'}"

    result = leadhand("migrate", str(leadhand.home), target)

    assert result.code == 0
    assert result.err.startswith("Moved 1 run (0 unfinished), ")
    assert [each["run_id"] for each in leadhand("runs", "list", "--json", "--database", target).json] == [run_id]
    again = leadhand("migrate", str(leadhand.home), target)
    assert again.code == 2
    assert "is not empty: its table runs has 1 row\n" in again.err


def test_runs_are_found_sorted_and_labelled(leadhand: Any) -> None:
    first, second = answered(leadhand), answered(leadhand)
    assert leadhand("runs", "label", first, "--name", "Nightly check", "--tag", "team=data").code == 0
    assert leadhand("runs", "label", second, "--tag", "team=ops", "--tag", "draft=1").code == 0
    assert leadhand("runs", "label", second, "--untag", "draft").err == f"{second}: no name; team=ops.\n"
    assert leadhand("runs", "label", second).code == 2
    refused = leadhand("runs", "label", second, "--untag", "taem", "--name", "x")
    assert (refused.code, refused.err) == (
        2,
        f"leadhand: run {second} has no tag 'taem'\n  Its tags are: team. Did you mean team?\n",
    )
    assert leadhand("runs", "label", second, "--tag", "team=a\nb").code == 2
    refused = leadhand("runs", "label", second, "--tag", "team=a\x1b[2Jb")
    assert (refused.code, refused.err) == (
        2,
        "leadhand: the tag team has a control character, '\\x1b'\n  Give one line of visible characters.\n",
    )
    assert leadhand("run", "--offline", "--tag", "team=a\x07", "Weather in Paris?").code == 2

    def listed(*flags: str) -> list[str]:
        return [run["run_id"] for run in leadhand("runs", "list", "--json", *flags).json]

    assert listed("--tag", "team=data") == listed("--search", "nightly") == [first]
    assert listed("--search", "nowhere") == []
    assert listed("--search", "wo-001.0") == [], "all runs have such a subtask: its key is not part of a run's text"
    assert listed("--sort", "created", "--reverse") == [first, second]
    assert listed("--flow", "report") == listed("--min-cost", "5") == []
    assert set(listed("--sort", "duration", "--max-duration", "3600")) == {first, second}
    assert "Choose from: created, cost" in leadhand("runs", "list", "--sort", "colour").err


def test_prune_keeps_the_newest_runs_and_what_the_project_keeps(
    leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = (answered(leadhand) for _ in range(3))
    assert "nothing says which runs to delete" in leadhand("runs", "prune").err
    (tmp_path / "leadhand.toml").write_text("[retention]\nkeep_runs = 2\n")
    assert leadhand("runs", "prune", "--dry-run").err == "1 run to delete.\n"
    assert leadhand("runs", "prune", "--older-than", "30d").err == "0 runs deleted.\n"
    assert leadhand("runs", "prune").err == "1 run deleted.\n"
    assert runs(leadhand) == {second, third}
    assert leadhand("runs", "prune", "--keep-runs", "1").err == "1 run deleted.\n"
    assert runs(leadhand) == {third}
    assert leadhand("runs", "prune", "--keep-runs", "0").code == 2
    (tmp_path / "leadhand.toml").write_text('[retention]\nkeep_for = "soon"\n')
    assert leadhand("runs", "prune").code in (2, 6)
    assert first
