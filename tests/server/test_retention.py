"""A server deletes finished runs that are no longer kept, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from refusals import refused
from server.doors import Door
from server.teams import Office

from leadhand.app.runtime.listings import Retention, duration
from leadhand.core.errors import UsageError
from leadhand.core.events import RunStatusSet
from leadhand.core.run import RunStatus
from leadhand.ports.runs import RunListing
from leadhand.server.upkeep import Upkeep


async def _ids(api: Door) -> set[str]:
    return {run["run_id"] for run in (await api.get("/api/runs")).json()["runs"]}


async def test_only_finished_runs_beyond_the_limits_expire(api: Door, office: Office) -> None:
    waiting = await api.started("pay Ann")
    await api.asked(waiting)
    runs = [await api.started(f"measure place_{number}") for number in range(3)]
    for run_id in runs:
        await api.over(run_id)
    store, now = api.service.runtime.store, datetime.now(UTC)

    async def expired(later: timedelta = timedelta(), **kept: object) -> list[str]:
        found = await Retention(**kept).expired(store, now + later)  # type: ignore[arg-type]
        return [each.run_id for each in found]

    assert await expired(keep_runs=2) == runs[:1]
    assert await expired(keep_for=timedelta(hours=1)) == []
    assert await expired(timedelta(hours=2), keep_for=timedelta(hours=1)) == runs[::-1]
    assert await expired(timedelta(hours=2), keep_for=timedelta(hours=3), keep_runs=1) == [runs[1], runs[0]]
    assert not Retention()


async def test_a_server_deletes_what_it_does_not_keep(api: Door) -> None:
    runs = [await api.started(f"measure place_{number}") for number in range(3)]
    for run_id in runs:
        await api.over(run_id)
    runtime = api.service.runtime
    kept = Retention(keep_runs=1)
    upkeep = Upkeep(runtime, kept)
    await upkeep.look()
    assert await _ids(api) == {runs[2]}

    later = [await api.started(f"measure place_{number}") for number in range(3, 5)]
    for run_id in later:
        await api.over(run_id)
    await upkeep.look()  # it looks once an hour
    await Upkeep(runtime, kept).look()  # another server of the database: one of them has just looked
    assert await _ids(api) == {runs[2], *later}


async def test_a_run_that_is_resumed_after_it_was_listed_is_kept_with_its_files(
    api: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    reopened, old, newest = [await api.started(f"measure {place}") for place in ("Oslo", "Paris", "Lyon")]
    for run_id in (reopened, old, newest):
        await api.over(run_id)
    runtime = api.service.runtime
    listed = Retention.expired

    async def expired(kept: Retention, store: Any, now: datetime) -> list[RunListing]:
        found = await listed(kept, store, now)
        await store.append(reopened, [RunStatusSet(status=RunStatus.RUNNING, by="ann")])
        return found

    monkeypatch.setattr(Retention, "expired", expired)
    upkeep = Upkeep(runtime, Retention(keep_runs=1))
    await upkeep.look()
    assert await _ids(api) == {reopened, newest}
    folders = {each.name for each in (runtime.settings.home / "runs").iterdir()}
    assert reopened in folders
    assert old not in folders


@pytest.mark.parametrize("age", ["0d", "00h", "-1d", "abc"])
def test_an_age_of_nothing_is_refused(age: str) -> None:
    with refused(UsageError, "--keep-for"):
        duration(age, "--keep-for")
