"""A server whose database is deleted or replaced is not ready, and confirms no run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from server.doors import door
from server.teams import Office, team


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    office = Office()
    yield office
    office.gate.set()


@pytest.mark.parametrize("accident", ["deleted", "replaced"])
async def test_a_server_whose_database_is_gone_confirms_no_run(tmp_path: Path, office: Office, accident: str) -> None:
    home = tmp_path / "home"
    async with door(home, models=team(), tools=office.tools) as api:
        await api.over(await api.started("measure Paris"))
        files = list(home.glob("leadhand.db*"))
        for file in [each for each in files if each.is_file()]:
            if accident == "replaced" and file.name == "leadhand.db":
                file.rename(file.with_name("older.db"))
                file.write_bytes(file.with_name("older.db").read_bytes())
            else:
                file.unlink()

        ready = await api.get("/readyz")
        started = await api.post("/api/runs", {"request": "measure Lyon"})
    assert (ready.status_code, started.status_code) == (503, 503)
