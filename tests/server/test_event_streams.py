"""Live events: every event once, in order, however often a client comes back; and what ends a stream."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from server.conftest import OpenServer
from server.doors import Door, Served
from server.streams import Streamed, first, numbers, rest, together
from server.teams import Office

from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import all_keys, revoke
from leadhand.server.app import Doors
from leadhand.server.live import feeds, streams
from leadhand.server.rates import Allowed


@pytest.fixture
async def served(serve: OpenServer) -> Served:
    return await serve()


async def finished(served: Served, request: str = "measure Paris, measure Oslo") -> tuple[str, int]:
    """A run that is over, and the number of its last event."""
    run_id = await served.door.started(request)
    return run_id, (await served.door.over(run_id))["last_seq"]


def check_end(seen: list[Streamed], status: str, head: int) -> None:
    assert seen[-1] == ("end", None, {"status": status, "last_seq": head})
    assert [each.kind for each in seen].count("end") == 1


async def test_a_stream_brings_the_events_of_the_page_and_then_ends(served: Served) -> None:
    run_id, head = await finished(served)

    async with served.watch(run_id) as stream:
        seen = await rest(stream)

    check_end(seen, "partial", head)
    page = await served.door.events(run_id)
    assert all(event.pop("words") for event in page)  # for people: a stream for integrators has none
    assert [each.data for each in seen if each.kind == "message"] == page


@pytest.mark.parametrize("path", ["events/stream", "view/stream"])
async def test_a_client_that_reconnects_after_the_last_event_of_a_finished_run_is_told_to_stop(
    served: Served, office: Office, path: str
) -> None:
    run_id, head = await finished(served)
    open_run = await served.door.started("measure Rome")

    async def status(of: str, last: int) -> int:
        headers = {"last-event-id": str(last)}
        async with served.door.http.stream("GET", f"/api/runs/{of}/{path}", headers=headers) as response:
            return response.status_code

    assert [await status(run_id, last) for last in (head, head + 1, head - 1)] == [204, 204, 200]
    assert await status(open_run, 10_000) == 200


async def test_a_client_that_comes_back_all_the_time_misses_nothing_of_a_run_that_goes_on(
    served: Served, office: Office
) -> None:
    run_id = await served.door.started("measure Paris, measure Rome, measure Lyon, measure Oslo")
    seen: list[Streamed] = []
    for step in itertools.count():
        (last,) = numbers(seen)[-1:] or [0]
        way: dict[str, Any] = {"headers": {"last-event-id": str(last)}} if step % 2 else {"after": last}
        if office.gate.is_set():  # who reconnects by the header after the last event is told to stop: see above
            way = {"after": last}
        async with served.watch(run_id, **way) as stream:
            for _ in range(1 + step % 3):
                seen.append(await anext(stream))
                if seen[-1].kind == "end":
                    break
        if office.calls["Rome"]:
            office.gate.set()
        if seen[-1].kind == "end":
            break

    head = (await served.door.over(run_id))["last_seq"]
    assert numbers(seen) == list(range(1, head + 1))
    check_end(seen, "partial", head)


async def test_a_run_that_another_process_drives_is_watched_like_ones_own(serve: OpenServer, office: Office) -> None:
    driving, watching = await serve(), await serve()
    run_id = await driving.door.started("measure Rome")
    async with watching.watch(run_id) as stream:
        seen = [await first(stream, "message", type="tool_call_began")]
        office.gate.set()
        seen += await rest(stream)
    check_end(seen, "succeeded", numbers(seen)[-1])


async def test_one_that_lags_behind_a_short_memory_misses_nothing(
    served: Served, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "KEPT", 5)
    monkeypatch.setattr(feeds, "PAGE", 3)
    run_id = await served.door.started("measure Rome, measure Paris, measure Lyon")
    async with together([served.watch(run_id, after=after) for after in (0, 0, 4)]) as streams:
        office.gate.set()
        seen = await asyncio.gather(*(rest(stream) for stream in streams))
    head = seen[0][-1].data["last_seq"]
    for start, each in zip((0, 0, 4), seen, strict=True):
        assert numbers(each) == list(range(start + 1, head + 1))


# --- what ends a stream, and what does not ----------------------------------------------------------------------------


async def test_a_parked_run_keeps_its_streams_open_and_a_resumed_one_goes_on(served: Served, office: Office) -> None:
    run_id = await served.door.started("measure Rome")
    async with served.watch(run_id) as stream:
        await first(stream, "message", type="tool_call_began")
        await served.door.post(f"/api/runs/{run_id}/pause", {"reason": "lunch"})
        await first(stream, "message", type="run_status_set", status="paused", reason="lunch")
        office.gate.set()
        await served.door.post(f"/api/runs/{run_id}/resume")
        await first(stream, "message", type="run_status_set", status="running")
        assert (await rest(stream))[-1].data["status"] == "succeeded"


async def test_a_run_that_waits_for_people_keeps_its_streams_open(served: Served) -> None:
    run_id = await served.door.started("pay Ann")
    async with served.watch(run_id) as stream:
        await first(stream, "message", type="run_status_set", status="waiting")
        (card,) = await served.door.asked(run_id)
        await served.door.post(f"/api/approvals/{card['approval_id']}", {"decision": "approve"})
        assert (await rest(stream))[-1].data["status"] == "succeeded"


async def test_a_run_that_is_reopened_streams_on_from_where_it_ended(served: Served, office: Office) -> None:
    run_id, head = await finished(served)
    office.broken.clear()
    assert (await served.door.post(f"/api/runs/{run_id}/retry", {})).status_code == 202

    async with served.watch(run_id, after=head) as stream:
        seen = await rest(stream)

    assert [each.data["by"] for each in seen if each.data.get("type") == "run_status_set"]
    check_end(seen, "succeeded", (await served.door.over(run_id))["last_seq"])
    assert numbers(seen)[0] == head + 1


@pytest.mark.parametrize("ahead", [0, 1, 1_000])
async def test_beyond_the_end_there_is_only_the_end(served: Served, ahead: int) -> None:
    run_id, head = await finished(served)

    async with served.watch(run_id, after=head + ahead) as stream:
        seen = await rest(stream)

    assert seen == [("end", None, {"status": "partial", "last_seq": head})]


async def test_where_a_stream_broke_off_wins_over_where_it_began(served: Served) -> None:
    """A browser comes back to the same address, with the last id it saw."""
    run_id, head = await finished(served)

    async with served.watch(run_id, headers={"last-event-id": "7"}, after=3) as stream:
        assert numbers(await rest(stream)) == list(range(8, head + 1))


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 40, "٣"])
async def test_an_id_that_is_no_event_is_a_problem_and_no_stream(api: Door, last: str) -> None:
    run_id = await api.started("measure Paris")

    refused = await api.get(f"/api/runs/{run_id}/events/stream", headers=[(b"last-event-id", last.encode())])

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


async def test_retry_is_in_the_block_of_the_first_event(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    for path in ("events/stream", "view/stream"):
        answer = await api.get(f"/api/runs/{run_id}/{path}")
        first_block, *others = answer.text.split("\n\n")
        assert first_block.startswith("retry: 2000\n")
        assert "\ndata: {" in first_block
        assert not any("retry:" in each for each in others)


# --- heartbeat, limits ------------------------------------------------------------------------------------------------


@pytest.fixture
def quick_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BEAT_S", 0.05)


@pytest.mark.usefixtures("quick_beat")
async def test_an_idle_stream_shows_that_the_server_is_there(serve: OpenServer, office: Office) -> None:
    served = await serve()
    run_id = await served.door.started("measure Rome")
    async with served.watch(run_id) as stream:
        await first(stream, "message", type="tool_call_began")
        for _ in range(3):
            assert await anext(stream) == ("comment", None, "ping")
        office.gate.set()
        assert (await rest(stream))[-1].kind == "end"


@pytest.mark.usefixtures("quick_beat")
async def test_a_stream_ends_when_its_key_is_revoked(serve: OpenServer) -> None:

    served = await serve()
    ann, ben = await served.door.key("ann"), await served.door.key("ben", Scope.READ_ALL)
    run_id = await served.door.started("measure Rome", headers=ann)
    async with served.watch(run_id, headers=ann) as revoked, served.watch(run_id, headers=ben) as good:
        await first(revoked, "message", type="tool_call_began")
        keys = served.door.runtime.database
        await revoke(keys, next(key for key in await all_keys(keys) if key.name == "ann"))

        assert {each.kind for each in await rest(revoked)} <= {"message", "delta", "comment"}
        await first(good, "message", type="tool_call_began")
        assert await anext(good) == ("comment", None, "ping")


async def test_streams_of_a_key_are_counted_while_they_are_open(serve: OpenServer) -> None:
    served = await serve(doors=Doors(allowed=Allowed(streams=2)))
    ann = await served.door.key("ann")
    run_id = await served.door.started("measure Rome", headers=ann)
    url = f"/api/runs/{run_id}/events/stream"
    async with served.watch(run_id, headers=ann) as one:
        await anext(one)
        async with served.watch(run_id, headers=ann) as two:
            await anext(two)
            refused = await served.door.get(url, headers=ann)
            assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
            assert int(refused.headers["retry-after"]) >= 1
            async with served.watch(run_id) as of_the_machines_user:
                await anext(of_the_machines_user)
        counted = "leadhand_sse_streams_open 1.0"
        await served.door.seen(lambda: served.door.get("/metrics"), lambda metrics: counted in metrics.text)
        async with served.watch(run_id, headers=ann) as again:
            await anext(again)
