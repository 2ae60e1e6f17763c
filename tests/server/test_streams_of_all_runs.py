"""The stream of all runs: every event of the runs that the caller may read, once, whichever process commits it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenServer
from server.doors import PATIENCE_S, Served
from server.keys import LOCKED, keys_of
from server.streams import Streamed, streamed
from server.teams import Office, team

from leadhand import Leadhand

START = "0-0"


def watch(
    served: Served, headers: dict[str, str] | None = None, **params: Any
) -> contextlib.AbstractAsyncContextManager[AsyncIterator[Streamed]]:
    return streamed(served.door.http, "/api/events/stream", headers=headers or {}, params=params)


async def until(stream: AsyncIterator[Streamed], *run_ids: str) -> list[Streamed]:
    """What comes until all of these runs have finished."""
    left, seen = set(run_ids), list[Streamed]()
    async with asyncio.timeout(PATIENCE_S):
        while left:
            seen.append(await anext(stream))
            if seen[-1].kind == "message" and seen[-1].data["type"] == "run_finished":
                left.discard(seen[-1].data["run_id"])
    return seen


def by_run(seen: list[Streamed]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for each in seen:
        if each.kind == "message":
            found[each.data["run_id"]].append(each.data["seq"])
    return found


async def test_a_client_that_comes_back_all_the_time_gets_each_event_of_each_run_once(
    serve: OpenServer, home: Path, office: Office
) -> None:
    served = await serve()
    runs = [await served.door.started("measure Paris, measure Rome, measure Lyon") for _ in range(2)]
    async with Leadhand(home=home, models=team(), tools=office.tools) as elsewhere:  # another host at the same database
        runs.append((await elsewhere.start("measure Paris, measure Rome, measure Nice")).run_id)
        seen: list[Streamed] = []
        left, last = set(runs), START
        for step in itertools.count():
            ways: tuple[dict[str, Any], ...] = ({"after": last}, {"headers": {"last-event-id": last}, "after": START})
            async with asyncio.timeout(PATIENCE_S), watch(served, **ways[step % 2]) as stream:
                for _ in range(1 + step % 5):
                    seen.append(await anext(stream))
                    last = str(seen[-1].id)
                    if seen[-1].data["type"] == "run_finished":
                        left.discard(seen[-1].data["run_id"])
                    if not left:
                        break
            if office.calls["Rome"] == 3:
                office.gate.set()
            if not left:
                break

    heads = {run_id: (await served.door.run(run_id))["last_seq"] for run_id in runs}
    assert by_run(seen) == {run_id: list(range(1, head + 1)) for run_id, head in heads.items()}
    assert len({each.id for each in seen}) == len(seen)


async def test_a_stream_without_a_place_begins_now_and_says_where_that_is(serve: OpenServer) -> None:
    served = await serve()
    before = await served.door.started("measure Paris")
    await served.door.over(before)
    async with watch(served) as stream:
        ready = await anext(stream)
        assert (ready.kind, ready.data) == ("ready", {})
    after = await served.door.started("measure Lyon")
    async with watch(served, after=ready.id) as stream:
        assert set(by_run(await until(stream, after))) == {after}


async def test_a_key_gets_the_events_of_its_own_runs_and_one_that_reads_all_those_of_all(serve: OpenServer) -> None:
    served = await serve(doors=LOCKED)
    keys = await keys_of(served.door)
    runs = {who: await keys.started(who, "measure Paris") for who in ("runner", "both")}
    for run_id in runs.values():
        await keys.rests(run_id, "succeeded", "partial")
    for who, ours in {"runner": {runs["runner"]}, "approver": {*runs.values()}, "admin": {*runs.values()}}.items():
        async with watch(served, keys.header(who), after=START) as stream:
            assert set(by_run(await until(stream, *ours))) == ours


async def test_events_are_brief_and_of_the_types_and_subtasks_that_are_asked_for(serve: OpenServer) -> None:
    served = await serve()
    run_id = await served.door.started("measure Paris, measure " + "Lyon" * 200)
    await served.door.over(run_id)
    page = await served.door.events(run_id)
    asked = {"type": ["tool_call_began", "run_finished"]}
    async with watch(served, after=START, **asked) as stream:
        seen = await until(stream, run_id)
    assert [each.data["type"] for each in seen] == ["tool_call_began"] * 2 + ["run_finished"]
    assert max(len(str(each.data)) for each in seen) < max(len(str(each)) for each in page)
    assert (await served.door.get("/api/events/stream", params={"type": "run_finishd"})).status_code == 422

    about = {"subtask": "wo-001.0"}
    async with served.watch(run_id, **about, type="tool_call_began") as stream:
        began = [each async for each in stream]
    assert [each.kind for each in began] == ["message", "end"]
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        path = f"/api/runs/{run_id}/events"
        part = (await served.door.get(path, params={**about, "limit": 2, "after": after})).json()
        assert len(part["events"]) <= 2
        found += part["events"]
        after = part["next_after"]
    attempts = {each["seq"] for each in page if str(each.get("attempt", each.get("step"))).startswith("wo-001.0")}
    assert {each["seq"] for each in found} == attempts
    assert began[0].data["seq"] in attempts


async def test_a_damaged_event_and_a_deleted_run_do_not_stop_the_stream(serve: OpenServer, home: Path) -> None:
    served = await serve()
    damaged, deleted, last = [await served.door.started(f"measure {place}") for place in ("Paris", "Lyon", "Nice")]
    for run_id in (damaged, deleted, last):
        await served.door.over(run_id)
    with contextlib.closing(sqlite3.connect(home / "leadhand.db")) as database, database:
        database.execute("UPDATE events SET body = '[]' WHERE run_id = ? AND seq = 2", (damaged,))
    await served.door.http.delete(f"/api/runs/{deleted}")
    async with watch(served, after=START) as stream:
        seen = await until(stream, damaged, last)
    assert [(each.data["run_id"], each.data["seq"]) for each in seen if each.kind == "unreadable"] == [(damaged, 2)]
    assert set(by_run(seen)) == {damaged, last}
    assert 2 not in by_run(seen)[damaged]


@pytest.mark.parametrize("place", ["1", "x-1", "-1-1"])
async def test_a_place_that_is_none_is_refused(serve: OpenServer, place: str) -> None:
    served = await serve()
    for sent in ({"params": {"after": place}}, {"headers": {"last-event-id": place}}):
        refused = await served.door.get("/api/events/stream", **sent)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


async def test_the_stream_ends_with_the_server_and_with_its_key(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leadhand.app.steering.keys import all_keys, revoke
    from leadhand.server.live import streams

    monkeypatch.setattr(streams, "BEAT_S", 0.05)
    served = await serve(doors=LOCKED)
    keys = await keys_of(served.door)
    async with watch(served, keys.header("runner")) as stream, watch(served, keys.header("admin")) as kept:
        await anext(stream)
        store = served.door.runtime.database
        for key in await all_keys(store):
            if key.name == "runner":
                await revoke(store, key)
        async with asyncio.timeout(PATIENCE_S):
            assert {each.kind async for each in stream} <= {"comment"}
            assert [(await anext(kept)).kind for _ in range(3)] == ["ready", "comment", "comment"]
            await served.end()
            assert {each.kind async for each in kept} <= {"comment"}
