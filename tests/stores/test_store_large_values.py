"""Large values are stored once, however many events carry them, and come back as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from stores.contract import reasons, started

from leadhand.core.errors import UnreadableRun
from leadhand.core.events import RunStatusSet, ToolCallBegan
from leadhand.core.run import RunStatus
from leadhand.stores import codec
from leadhand.stores.large_values import pack, unpack
from leadhand.stores.opening import open_store

RunSql = Callable[..., list[tuple[Any, ...]]]


def repeated(text: str, times: int) -> str:
    return text * times


texts: st.SearchStrategy[Any] = st.text(max_size=20) | st.builds(repeated, st.text(min_size=1), st.integers(1, 6_000))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


def call(number: int, **args: Any) -> ToolCallBegan:
    return ToolCallBegan(attempt="wo-001.0/a1", call_id=f"{number}", tool="read", args=args)


@given(values)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    body = json.dumps({"a": value, "b": [value, 1]}, ensure_ascii=False, separators=(",", ":"))
    packed, stored = pack(body)
    assert unpack(packed, stored) == body
    assert all(len(content) > 4_096 for content in stored.values())
    assert len(packed) <= len(body)


@pytest.mark.slow
async def test_equal_values_of_many_events_and_runs_are_stored_once(url: str, run_sql: RunSql) -> None:
    text, rows = "long " * 4_000, [{"n": number, "name": f"row {number}"} for number in range(1_000)]
    async with aclosing(await open_store(url)) as store:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started(text))
            events = [call(number, text=text, rows=rows, n=number) for number in range(50)]
            await store.append(run_id, [*events, RunStatusSet(status=RunStatus.PAUSED, reason=text)])
            read = [entry.event for entry in await store.read(run_id)]
            assert read == [started(text), *events, RunStatusSet(status=RunStatus.PAUSED, reason=text)]
            assert (await store.read(run_id, after=50, limit=1))[0].event == events[-1]
    ((bodies,),) = run_sql(url, "SELECT sum(length(body)) FROM events")
    assert bodies < 60_000
    assert run_sql(url, "SELECT count(*) FROM blobs") == [(2,)]


@pytest.mark.parametrize("size", [1, 9_000])
async def test_data_that_look_like_a_reference_stay_what_they_are(url: str, size: int) -> None:
    reference = {"$blob": "sha256:" + "0" * 64}
    events = [
        call(1, value=reference, text="x" * size),
        call(2, value=json.dumps(reference), text="y" * size),
        call(3, value=[{"$blob": 1}, reference | {"bytes": 1}, "@" * size]),
        RunStatusSet(status=RunStatus.PAUSED, reason="@" * size),
    ]
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", events)
        assert [entry.event for entry in await store.read("run-1", after=1)] == events


async def test_values_go_with_the_last_run_that_has_them(url: str, run_sql: RunSql) -> None:
    shared, own = "shared " * 1_000, "own " * 2_000
    async with aclosing(await open_store(url)) as store:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started())
            await store.append(
                run_id,
                [
                    RunStatusSet(status=RunStatus.PAUSED, reason=shared),
                    RunStatusSet(status=RunStatus.PAUSED, reason=f"{own}{run_id}"),
                ],
            )
            await store.release(run_id, 1)
        await store.delete_runs(["run-1"])
        assert reasons(await store.read("run-2")) == [shared, f"{own}run-2"]
        assert run_sql(url, "SELECT count(*) FROM blobs") == [(2,)]
        await store.delete_runs(["run-2"])
        assert run_sql(url, "SELECT count(*) FROM blobs") == [(0,)]


async def test_a_value_that_is_missing_damages_only_the_runs_that_have_it(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        for run_id, reason in (("run-1", "long " * 2_000), ("run-2", "short")):
            await store.create(run_id, started())
            await store.append(run_id, [RunStatusSet(status=RunStatus.PAUSED, reason=reason)])
        run_sql(url, "DELETE FROM blobs")
        with refused(UnreadableRun, "sha256:", run_id="run-1", seq=2):
            await store.read("run-1")
        assert len(await store.read("run-1", limit=1)) == 1
        assert reasons(await store.read("run-2")) == ["short"]
        assert ["run-1" in lost for lost in await store.damage()] == [True]


async def test_a_page_of_large_values_is_read_in_parts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "PAGE_SIZE", 100_000)
    reasons_ = [f"{number} " * 5_000 for number in range(200)]
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", [RunStatusSet(status=RunStatus.PAUSED, reason=reason) for reason in reasons_])
        assert reasons(await store.read("run-1")) == reasons_
        assert reasons(await store.read("run-1", after=11, limit=150)) == reasons_[10:160]
