"""The connections of a server: how many there may be, and how long they stay open."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator

import pytest
from server.conftest import OpenServer
from server.doors import Served

from leadhand.server import serving
from leadhand.server.serving import KEEP_ALIVE_S

HOST = b"Host: 127.0.0.1\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
SOON_S = 0.05


@contextlib.asynccontextmanager
async def connected(served: Served) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def test_responses_are_sent_without_delay(serve: OpenServer) -> None:
    """Otherwise the body waits until the client has acknowledged the head, which takes it 40 ms."""
    served = await serve()
    async with connected(served) as (reader, writer):
        writer.write(HEALTH)
        await reader.readuntil(b'{"status":"ok"}')
        [connection] = served.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_connections_above_the_limit_are_told_to_come_back(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    served = await serve()
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            reader, writer = await stack.enter_async_context(connected(served))
            writer.write(HEALTH)
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")
        async with connected(served) as (reader, writer):
            writer.write(HEALTH)
            assert (await reader.read()).startswith(b"HTTP/1.1 503 ")

    async def asked() -> int:
        async with connected(served) as (reader, writer):
            writer.write(HEALTH)
            return int((await reader.readuntil(b"\r\n")).split()[1])

    await served.door.seen(asked, lambda status: status == 200)


async def test_connections_outlive_those_that_clients_keep(serve: OpenServer) -> None:
    served = await serve()

    assert served.server.config.timeout_keep_alive == KEEP_ALIVE_S > 60
