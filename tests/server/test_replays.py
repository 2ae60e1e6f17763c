"""Many clients that replay one log: pages are read and encoded once, and others are answered in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from server.conftest import OpenServer
from server.doors import PATIENCE_S, Door, Served
from server.streams import numbers, rest, together

from leadhand.server.live import feeds, pages, stream
from leadhand.server.live.pages import Chunk, Pages, chunks

LONG = ", ".join(f"measure place_{n}" for n in range(20))


@pytest.fixture
async def served(serve: OpenServer, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setattr(feeds, "PAGE", 20)
    return await serve()


async def long_run(api: Door, request: str = LONG) -> str:
    run_id = await api.started(request)
    await api.over(run_id)
    return run_id


async def test_readers_share_pages_wherever_they_begin(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = await long_run(served.door)
    store = served.door.runtime.store
    read, asked = store.read, list[tuple[int, int | None]]()

    async def counted(run_id: str, after: int = 0, limit: int | None = None) -> Any:
        asked.append((after, limit))
        return await read(run_id, after, limit)

    monkeypatch.setattr(store, "read", counted)
    starts = [*[0] * 8, 7, 7, 33]
    async with together([served.watch(run_id, after=after) for after in starts]) as watching:
        seen = await asyncio.gather(*map(rest, watching))

    last = seen[0][-1].data["last_seq"]
    assert last > 60, "there are several pages"
    for after, got in zip(starts, seen, strict=True):
        assert got[-1].kind == "end"
        assert numbers(got) == list(range(after + 1, last + 1))
    assert len(asked) == len(set(asked)), "a page was read twice"
    assert {after for after, _ in asked} == {*range(0, last, 20), 7, 33}, "pages end at the same events for all"


async def test_brief_and_whole_events_are_different_pages(served: Served) -> None:
    run_id = await long_run(served.door, "x" * 1_000)
    for _ in range(2):
        for brief in (True, False):
            async with served.watch(run_id, brief=brief) as watching:
                first = (await rest(watching))[0]
            assert (len(first.data["definition"]["request"]) == 1_000) is not brief
        page = await served.door.get(f"/api/runs/{run_id}/events", params={"brief": True})
        assert len(page.json()["events"][0]["definition"]["request"]) < 1_000


async def test_others_have_a_turn_between_the_chunks_of_a_replay(api: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport takes everything at once here, so nothing but the stream itself lets others in."""
    monkeypatch.setattr(pages, "CHUNK", 2_000)
    monkeypatch.setattr(stream, "SMALL", 1_000)
    run_id = await long_run(api)
    turns, sent = 0, list[int]()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    body = stream._body  # pyright: ignore[reportPrivateUsage]

    def noted(data: bytes, *, more: bool = True) -> Any:
        if len(data) > 1_000:
            sent.append(turns)
        return body(data, more=more)

    monkeypatch.setattr(stream, "_body", noted)
    running = asyncio.create_task(others())
    async with asyncio.timeout(PATIENCE_S):
        await api.get(f"/api/runs/{run_id}/events", headers={"accept": "text/event-stream"})
    running.cancel()

    assert len(sent) > 5
    assert sorted(set(sent)) == sent, "two chunks were written in one turn"


async def test_retry_is_in_the_block_of_the_first_event(api: Door) -> None:
    run_id = await long_run(api, "measure Paris")
    for path in ("events", "view"):
        answer = await api.get(f"/api/runs/{run_id}/{path}", headers={"accept": "text/event-stream"})
        first, *others = answer.text.split("\n\n")
        assert first.startswith("retry: 2000\n")
        assert "\ndata: {" in first
        assert not any("retry:" in each for each in others)


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_pages_are_bounded_and_the_ones_used_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "KEPT_BYTES", 30)
    made: list[str] = []
    kept = Pages()

    async def page(name: str) -> tuple[Chunk, ...]:
        async def make() -> list[Chunk]:
            made.append(name)
            return [Chunk(1, b"x" * 10)]

        return await kept.of(name, make)

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        await page(name)

    assert made == ["a", "b", "c", "d", "b"]


async def test_a_page_that_cannot_be_made_is_made_again_and_no_client_stops_it_for_others() -> None:
    kept, gate = Pages(), asyncio.Event()
    failing = True

    async def make() -> list[Chunk]:
        await gate.wait()
        if failing:
            raise OSError("the disk is gone")
        return [Chunk(1, b"x")]

    leaving, staying = (asyncio.create_task(kept.of("a", make)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    gate.set()
    with pytest.raises(OSError, match="disk"):
        await staying
    failing = False
    assert await kept.of("a", make) == (Chunk(1, b"x"),)


def test_chunks_hold_whole_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "CHUNK", 4)

    assert chunks([(1, b"ab"), (2, b"cd"), (3, b"efghij"), (4, b"k")]) == [(2, b"abcd"), (3, b"efghij"), (4, b"k")]
    assert chunks([]) == []
