"""Runs that nobody drives: which the service goes on with by itself, and which it leaves alone."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from server.doors import Door, door
from server.teams import Office, team

from leadhand import Leadhand
from leadhand.app.runtime import listings
from leadhand.app.runtime.driver import Resumer
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.steering.approvals import find_approval
from leadhand.core.errors import ConfigurationError, StoreError
from leadhand.server import app


class Looking(Resumer):
    """A resumer that counts how often it has looked at everything."""

    times = 0

    async def look(self) -> None:
        await super().look()
        Looking.times += 1


@pytest.fixture(autouse=True)
def _looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "Resumer", partial(Looking, every_s=0.01))


Opened = Callable[..., AbstractAsyncContextManager[Door]]


@pytest.fixture
def opened(home: Path, office: Office) -> Opened:
    """Opens an app; it is over with the block, as when its server is ended."""

    def open_(tools: Any = None) -> AbstractAsyncContextManager[Door]:
        return door(home, models=team(), tools=tools or office.tools)

    return open_


async def looks(api: Door, times: int = 3) -> None:
    """Wait until everything was looked at so many times more."""
    goal = Looking.times + times

    async def look() -> int:
        return Looking.times

    await api.seen(look, lambda count: count >= goal)


def _never(_: str) -> bool:
    return False


async def left_in(opened: Opened, office: Office, request: str = "measure Paris, measure Rome") -> str:
    """A run that its server left in Rome."""
    async with opened() as api:
        before = office.calls["Rome"]
        run_id = await api.started(request)
        await api.seen(lambda: api.run(run_id), lambda run: run["work_orders"] and office.calls["Rome"] > before)
        await api.seen(lambda: api.get("/api/runs"), lambda page: page.json()["runs"][0]["completed"] == 1)
    return run_id


async def test_what_a_server_leaves_behind_the_next_goes_on_with(opened: Opened, office: Office) -> None:
    run_id = await left_in(opened, office)
    office.gate.set()

    async with opened() as api:
        assert (await api.over(run_id))["status"] == "succeeded"

    assert office.calls == {"Paris": 1, "Rome": 2}


async def test_what_another_drives_is_left_alone(opened: Opened, office: Office) -> None:
    async with opened() as first, opened() as second:
        run_id = await first.started("measure Rome")
        await first.seen(lambda: first.run(run_id), lambda _: office.calls["Rome"])
        owner = (await first.run(run_id))["owner"]
        await looks(second)

        assert (await second.run(run_id))["owner"] == owner
        office.gate.set()
        await first.over(run_id)
    assert office.calls == {"Rome": 1}


async def test_what_was_parked_stays_parked(opened: Opened, office: Office) -> None:
    async with opened() as first:
        run_id = await first.started("measure Rome")
        await first.seen(lambda: first.run(run_id), lambda _: office.calls["Rome"])
        await first.post(f"/api/runs/{run_id}/pause")
    async with opened() as second:
        await looks(second)
        assert (await second.run(run_id))["status"] == "paused"
    assert office.calls == {"Rome": 1}


async def test_what_was_left_in_a_terminal_is_its_owners_to_go_on_with(
    opened: Opened, office: Office, home: Path
) -> None:
    async with Leadhand(models=team(), tools=office.tools, home=home) as lead:
        run = await lead.start("measure Rome")
        while not office.calls["Rome"]:
            await anext(aiter(run))
    async with opened() as api:
        await looks(api)
        line = (await api.get("/api/runs")).json()["runs"][0]
        assert (line["orphan"], line["detached"]) == (True, False)
        assert office.calls == {"Rome": 1}

        office.gate.set()
        assert (await api.post(f"/api/runs/{run.run_id}/resume")).status_code == 202
        assert (await api.over(run.run_id))["status"] == "succeeded"


async def test_a_run_that_cannot_be_read_is_left_alone_with_one_warning(
    opened: Opened, office: Office, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = await left_in(opened, office), await left_in(opened, office, "measure Lyon, measure Rome")
    with sqlite3.connect(home / "leadhand.db") as database:
        database.execute("UPDATE events SET body = 'garbage' WHERE run_id = ? AND seq = 2", (bad,))
    office.gate.set()
    caplog.clear()
    with caplog.at_level(logging.INFO, "leadhand.server"):
        async with opened() as api:
            assert (await api.get("/readyz")).status_code == 200
            assert (await api.over(good))["status"] == "succeeded"
            await looks(api, 5)
    told = [record.getMessage() for record in caplog.records if bad in record.getMessage()]
    assert len(told) == 1


async def test_a_run_whose_tools_are_missing_is_left_alone_with_one_warning(
    opened: Opened, office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    run_id = await left_in(opened, office)
    caplog.clear()
    with caplog.at_level(logging.INFO, "leadhand.server"):
        async with opened(tools=[office.pay]) as without:
            await looks(without, 5)
            line = (await without.get("/api/runs")).json()["runs"][0]
    told = [record for record in caplog.records if run_id in record.getMessage()]
    assert [record.levelname for record in told] == ["WARNING"]
    assert "measure" in told[0].getMessage()
    assert (line["orphan"], line["status"]) == (True, "running")

    office.gate.set()
    async with opened() as api:
        assert (await api.over(run_id))["status"] == "succeeded"


async def test_an_answer_from_another_process_lets_the_run_go_on(opened: Opened, office: Office, home: Path) -> None:
    async with opened() as api:
        run_id = await api.started("pay Ann")
        (card,) = await api.asked(run_id)
        async with Leadhand(models=team(), tools=office.tools, home=home) as elsewhere:
            await elsewhere.approve(await find_approval(await elsewhere.runtime(), card["approval_id"]))
        assert (await api.over(run_id))["status"] == "succeeded"
    assert office.calls == {"Ann 1": 1}


async def test_a_run_that_waits_is_read_once_and_not_at_every_look(
    opened: Opened, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as api:
        await api.asked(await api.started("pay Ann"))
        await looks(api)
        reads = 0
        load = api.runtime.load

        async def counted(run_id: str) -> Any:
            nonlocal reads
            reads += 1
            return await load(run_id)

        monkeypatch.setattr(api.runtime, "load", counted)
        await looks(api, 5)
        assert reads == 0


async def test_a_run_whose_driving_fails_is_not_tried_again_at_once(
    opened: Opened, office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Taking a run over writes to its log: a run that can never go on must not fill the disk."""
    run_id = await left_in(opened, office)
    tried: list[str] = []

    async def fails(state: Any, _: Any = None) -> Any:
        tried.append(state.run_id)
        await api.runtime.store.release(state.run_id, state.epoch)
        raise ConfigurationError("the run uses work-order version 99", "Resume it elsewhere.")

    async with opened() as first:
        counted = "leadhand_runs_driving 1.0"
        await first.seen(lambda: first.get("/metrics"), lambda metrics: counted in metrics.text)
        await first.post(f"/api/runs/{run_id}/pause")
    async with opened() as api:
        monkeypatch.setattr(api.runtime, "drive", fails)
        await api.post(f"/api/runs/{run_id}/resume")
        await looks(api, 10)
    assert 1 <= len(tried) <= 2, "one second has not passed three times over"
    assert "version 99" in caplog.text


async def test_one_run_that_cannot_be_read_costs_the_others_nothing(
    opened: Opened, office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = await left_in(opened, office)
    bad = await left_in(opened, office, "measure Lyon, measure Rome")
    office.gate.set()
    genuine = Runtime.take_over

    async def damaged(self: Runtime, run_id: str) -> Any:
        if run_id == bad:
            raise StoreError(f"damaged: {bad}", "Restore it.")
        return await genuine(self, run_id)

    monkeypatch.setattr(Runtime, "take_over", damaged)
    async with opened() as api:
        assert (await api.over(good))["status"] == "succeeded"
        await looks(api, 5)
    assert len([each for each in caplog.records if f"damaged: {bad}" in each.getMessage()]) == 1


async def test_an_orphan_is_found_behind_any_number_of_runs_that_are_driven(
    opened: Opened, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = await left_in(opened, office)
    monkeypatch.setattr(listings, "PAGE", 2)
    async with opened() as api:
        with monkeypatch.context() as held:
            held.setattr(api.service.driver, "may_resume", _never)
            newer = [await api.started("measure Rome") for _ in range(5)]
            await looks(api)
        office.gate.set()
        for run_id in (orphan, *newer):
            assert (await api.over(run_id))["status"] == "succeeded"
