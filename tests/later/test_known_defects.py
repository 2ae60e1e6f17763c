"""Known defects, each with a test of what is wanted. Remove the mark with the defect: a test that passes fails here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from server.doors import door
from server.teams import Office, team


def known(defect: str) -> pytest.MarkDecorator:
    """Mark a test that fails because of a defect."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=f"known defect: {defect}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    office = Office()
    yield office
    office.gate.set()


@known("a server does not notice that its database was deleted, and confirms runs that are lost")
@pytest.mark.parametrize("accident", ["deleted", "replaced"])
async def test_a_server_whose_database_is_gone_confirms_no_run(home: Path, office: Office, accident: str) -> None:
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
        if started.status_code == 202:
            await api.over(started.json()["run_id"])
    assert (ready.status_code, started.status_code) == (503, 503)
