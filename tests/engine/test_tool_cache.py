"""Results of tools that are used again: only where that is allowed, within borders, and the log says so."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels
from engine.worlds import World, ask, plan
from leadhand.core.errors import FailureClass, StoreError, ToolError
from leadhand.core.events import ToolCallBegan, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.tool import ToolReturn
from leadhand.engine.calls import tool_calls
from leadhand.engine.calls.tool_cache import may_keep
from leadhand.stores.opening import open_store
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool


class Looked:
    """A tool with a cache; ``made`` are the arguments of the calls that were really made."""

    def __init__(self, **policy: Any) -> None:
        self.made: list[Any] = []
        self.answer: Any = None
        self.policy = {"cache": "1h", **policy}

    @property
    def tool(self) -> Tool[..., Any]:
        async def look(city: str, days: int = 1) -> Any:
            """Look at a city."""
            self.made.append((city, days))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer if self.answer is not None else ToolReturn(raw={"city": city}, summary=f"saw {city}")

        return tool(**self.policy)(look)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, sqlite_url: str) -> AsyncIterator[Any]:
    from engine.fakes import FixedClock

    kept = MemoryStore(FixedClock()) if request.param == "memory" else await open_store(sqlite_url)
    async with aclosing(kept):
        yield kept


def looking(*cities: str) -> FakeModels:
    return FakeModels(plan(*(ask(city, "look", city=city) for city in cities)))


async def returned(world: World, run_id: str) -> list[ToolCallReturned]:
    return await world.events(ToolCallReturned, run_id)


async def ran(world: World, **more: Any) -> str:
    """Carry out a run, and return its id."""
    run_id = await world.start(**more)
    state = await world.drive(run_id)
    assert state.status is RunStatus.SUCCEEDED, state.finished
    return run_id


async def test_a_second_run_uses_the_result_of_the_first_and_its_log_says_from_where(store: Any, open_world: Any):
    looked = Looked()
    world: World = open_world(looking("Paris"), [looked.tool], store=store)
    first, second = await ran(world), await ran(world)

    assert looked.made == [("Paris", 1)]
    (made,), (used,) = await returned(world, first), await returned(world, second)
    assert made.cached is None
    assert used.cached is not None
    assert (used.cached.run_id, used.cached.call_id) == (first, made.call_id)
    assert (used.ok, used.raw, used.summary) == (True, {"city": "Paris"}, "saw Paris")
    assert len(await world.events(ToolCallBegan, second)) == 1
    assert (await world.document(second))["context_store"]["events"][0]["content"]["summary"] == "saw Paris"


async def test_a_key_never_gets_what_another_key_s_runs_found(store: Any, open_world: Any):
    looked = Looked()
    world = open_world(looking("Paris"), [looked.tool], store=store)
    for key_id in ("", "one", "two", "one"):
        await ran(world, key_id=key_id)
    assert len(looked.made) == 3, "one for each key, and one for the runs without a key"


async def test_sample_data_are_not_used_online_nor_other_documents(store: Any, open_world: Any):
    looked = Looked()
    world = open_world(looking("Paris"), [looked.tool], store=store)
    for more in ({"offline": True}, {"offline": False}, {"documents": "/a"}, {"documents": "/b"}):
        run_id = await world.start(**more)
        await world.drive(run_id)
    assert len(looked.made) >= 3
    assert len({*looked.made}) == 1


async def test_another_version_of_the_code_is_called(store: Any, open_world: Any):
    for version, calls in (("1", 1), ("1", 0), ("2", 1)):
        looked = Looked(version=version)
        world: World = open_world(looking("Paris"), [looked.tool], store=store)
        world._numbers = iter([len(await store.runs()) + 1])  # pyright: ignore[reportAttributeAccessIssue]
        await ran(world)
        assert len(looked.made) == calls


async def test_a_failure_is_not_kept(store: Any, open_world: Any):
    looked = Looked(retries=0)
    world: World = open_world(looking("Paris"), [looked.tool], store=store)
    looked.answer = ToolError("gone", type="gone", class_=FailureClass.UNAVAILABLE)
    await world.drive(await world.start())
    looked.answer = None
    await ran(world)
    assert len(looked.made) == 2


async def test_a_result_expires(open_world: Any):
    looked = Looked(cache=60)
    world: World = open_world(looking("Paris"), [looked.tool])
    await ran(world)
    world.clock.advance(59)
    await ran(world)
    assert len(looked.made) == 1
    world.clock.advance(2)
    await ran(world)
    assert len(looked.made) == 2


async def test_a_large_result_is_stored_once_and_its_digest_is_in_both_logs(store: Any, open_world: Any):
    looked = Looked()
    looked.answer = ToolReturn(raw={"text": "x" * 10_000}, summary="much")
    world: World = open_world(looking("Paris"), [looked.tool], store=store)
    (made,), (used,) = await returned(world, await ran(world)), await returned(world, await ran(world))
    assert len(looked.made) == 1
    assert "$blob" in made.raw
    assert used.raw == made.raw


async def test_a_large_result_whose_run_was_deleted_is_fetched_again(sqlite_url: str, open_world: Any):
    looked = Looked()
    looked.answer = ToolReturn(raw={"text": "x" * 10_000}, summary="much")
    async with aclosing(await open_store(sqlite_url)) as store:
        world: World = open_world(looking("Paris"), [looked.tool], store=store, sound=False)
        await store.delete_runs([await ran(world)])
        await ran(world)
        assert len(looked.made) == 2
        await world.dispatcher.aclose()
        world.store = MemoryStore(world.clock)


async def test_a_result_with_a_secret_is_not_kept(store: Any, open_world: Any):
    """The log has no secrets, and without it the result would be another one."""
    looked = Looked()
    looked.answer = ToolReturn(raw={"token": "hunter2-hunter2"}, summary="found")
    world = open_world(looking("Paris"), [looked.tool], store=store, secrets=["hunter2-hunter2"])
    await ran(world)
    await ran(world)
    assert len(looked.made) == 2


@pytest.mark.parametrize("broken", ["cached", "cache"])
async def test_a_cache_that_cannot_be_read_or_written_fails_no_call(
    open_world: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
):
    looked = Looked()
    world: World = open_world(looking("Paris"), [looked.tool])
    works = getattr(world.store, broken)

    async def fails(key: str, *rest: Any) -> Any:
        if key.startswith("tool "):
            raise StoreError("the database does not answer", "check it")
        return await works(key, *rest)

    monkeypatch.setattr(world.store, broken, fails)
    await ran(world)
    await ran(world)
    assert looked.made == [("Paris", 1)] * 2
    assert "the database does not answer" in caplog.text


async def test_large_results_are_searched_for_secrets_on_another_thread(
    open_world: Any, monkeypatch: pytest.MonkeyPatch
):
    threads: list[str] = []

    def noted(returned: ToolReturn) -> bool:
        threads.append(threading.current_thread().name)
        return may_keep(returned)

    monkeypatch.setattr(tool_calls, "may_keep", noted)
    looked = Looked()
    looked.answer = ToolReturn(raw={"text": "x" * 100_000}, summary="much")
    world: World = open_world(looking("Paris"), [looked.tool])
    await ran(world)
    assert [name.startswith("leadhand-tool") for name in threads] == [True]


async def test_a_call_that_waited_uses_what_another_one_found_meanwhile(store: Any, open_world: Any):
    looked = Looked(concurrency=1)
    world = open_world(looking("Paris", "Paris", "Paris"), [looked.tool], store=store)
    await ran(world)
    assert len(looked.made) == 1
