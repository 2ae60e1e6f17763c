"""Clients that do not read, a log that cannot be read, and a server that ends while it is watched."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
from server.conftest import OpenServer
from server.doors import Served
from server.streams import first, rest, together
from server.teams import Office

from leadhand.core.errors import StoreError
from leadhand.server import serving

LONG = ", ".join(f"measure place_{n}" for n in range(150))
SMALL = 4_096
"""Bytes that a connection keeps for a client that does not read: the system keeps a few times as much."""


@contextlib.asynccontextmanager
async def deaf(served: Served, run_id: str) -> AsyncGenerator[socket.socket]:
    """A client that asks for a stream and reads nothing of it."""
    with socket.socket() as client:
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", served.port))
        request = f"GET /api/runs/{run_id}/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        await loop.sock_sendall(client, request.encode())
        yield client


def streams(served: Served) -> int:
    return served.door.service.feeds.clients


async def _clients(served: Served) -> int:
    return streams(served)


async def test_a_client_that_stops_reading_costs_nobody_else(serve: OpenServer, office: Office) -> None:
    served = await serve(buffer=SMALL)
    run_id = await served.door.started(f"{LONG}, measure Rome")
    async with deaf(served, run_id), together([served.watch(run_id), served.watch(run_id)]) as good:
        await served.door.seen(lambda: _clients(served), lambda count: count == 3)
        for each in good:
            await first(each, "message", type="tool_call_began", args={"place": "Rome"})
        office.gate.set()
        for each in good:
            assert (await rest(each))[-1].kind == "end"
    await served.door.seen(lambda: _clients(served), lambda count: count == 0)


async def test_streams_are_over_when_the_server_ends_and_it_waits_for_none(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ENDS_WITHIN_S", 36_000)
    monkeypatch.setattr(serving, "HANGS_UP_AFTER_S", 36_000)
    served = await serve()
    run_id = await served.door.started("measure Rome")
    async with together([served.watch(run_id) for _ in range(10)]) as watching:
        for one in watching:
            await first(one, "message", type="tool_call_began")
        ending = asyncio.create_task(served.end())
        for one in watching:
            assert {each.kind for each in await rest(one)} <= {"message", "delta", "comment"}
        await ending


@pytest.fixture
async def served(serve: OpenServer) -> Served:
    return await serve()


@pytest.mark.slow
async def test_a_client_that_does_not_read_does_not_keep_the_server_from_ending(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "ENDS_WITHIN_S", 36_000)
    served = await serve(buffer=SMALL)
    run_id = await served.door.started(LONG)
    await served.door.over(run_id)
    async with deaf(served, run_id):
        await served.door.seen(lambda: _clients(served), lambda count: count == 1)
        await served.end()


async def test_a_log_that_cannot_be_read_sends_everybody_away_and_they_may_come_back(
    served: Served, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await served.door.started("measure Rome")
    store = served.door.runtime.store
    broken = asyncio.Event()
    follow = store.follow

    async def follows_badly(run_id: str, after: int = 0) -> AsyncIterator[object]:
        async for batch in follow(run_id, after):
            yield batch
            if broken.is_set():
                raise StoreError("the disk is gone", "Bring it back.")

    monkeypatch.setattr(store, "follow", follows_badly)
    async with served.watch(run_id) as watching:
        await first(watching, "message", type="tool_call_began")
        broken.set()
        office.gate.set()
        seen = await rest(watching)
    assert "end" not in [each.kind for each in seen]

    broken.clear()
    async with served.watch(run_id) as again:
        assert (await rest(again))[-1].kind == "end"
