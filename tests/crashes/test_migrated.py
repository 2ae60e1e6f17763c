"""A run that was killed on SQLite goes on in PostgreSQL, where `leadhand migrate` took it: nothing is repeated."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from crashes.killing import Theatre, check_resumed, left_by
from leadhand.cli.app import main


def test_a_migration_names_two_databases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.db"
    assert main(["migrate", str(nothing), str(tmp_path / "new.db")]) == 6
    assert f"there is no database {nothing}" in capsys.readouterr().err
    assert not nothing.exists()


async def test_a_run_killed_in_the_middle_goes_on_in_postgresql(
    sqlite_url: str, postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theatre = Theatre(sqlite_url, tmp_path, [("piece", n) for n in range(8)])
    async with theatre.life(hold="piece 4", max_workers=1) as life:
        run_id = (await life.said())["run_id"]
        await theatre.held("piece 4")
        assert await asyncio.to_thread(main, ["migrate", sqlite_url, postgres_url]) == 2
        assert f"run {run_id} is driven by a living process" in capsys.readouterr().err
        await life.kill()
    cut = await left_by(theatre, run_id)
    assert len(cut.completed) == 4
    assert await asyncio.to_thread(main, ["migrate", sqlite_url, postgres_url]) == 0
    assert f"Moved 1 run (1 unfinished), {len(cut.log)} events" in capsys.readouterr().err
    theatre.url = postgres_url
    await check_resumed(theatre, cut)
