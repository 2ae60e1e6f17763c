"""The limits of connections and of requests that are not sent to their end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from server.conftest import OpenServer
from server.doors import PATIENCE_S, Served

from leadhand.server import connections, problems, serving
from leadhand.server.connections import KEEP_ALIVE_S, OWN_FILES, TURNED_AWAY, most_connections

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


async def ended(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], Any]:
    """The one response of a connection that the server then closes."""
    async with asyncio.timeout(PATIENCE_S):
        whole = await reader.read()
    head, _, body = whole.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), headers, json.loads(body)


async def test_responses_are_sent_without_delay(serve: OpenServer) -> None:
    """Otherwise the body waits until the client has acknowledged the head, which takes it 40 ms."""
    served = await serve()
    async with connected(served) as (reader, writer):
        writer.write(HEALTH)
        await reader.readuntil(b'{"status":"ok"}')
        [connection] = served.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_head_that_never_ends_is_refused(serve: OpenServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", SOON_S)
    served = await serve()
    async with connected(served) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Slow: ")
        status, headers, problem = await ended(reader)

    assert (status, problem["code"]) == (408, "timeout")
    assert (headers["content-type"], headers["connection"]) == ("application/problem+json", "close")
    assert problem["how"]


async def test_a_second_request_that_never_ends_is_refused_too(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", SOON_S)
    served = await serve()
    async with connected(served) as (reader, writer):
        writer.write(HEALTH)
        await reader.readuntil(b'{"status":"ok"}')
        writer.write(b"GET ")
        status, _, _ = await ended(reader)

    assert status == 408


async def test_a_connection_that_sends_nothing_is_closed(serve: OpenServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", SOON_S)
    served = await serve()
    async with connected(served) as (reader, _):
        assert (await ended(reader))[0] == 408


async def test_a_long_response_is_not_a_slow_request(serve: OpenServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for a head ends with the head."""
    monkeypatch.setattr(connections, "HEAD_S", SOON_S)
    served = await serve()
    run_id = await served.door.started("measure Rome")
    async with served.watch(run_id) as watching:
        await anext(watching)
        async with connected(served) as (reader, _):
            await ended(reader)  # meanwhile, the time for a head is over
        assert served.door.service.feeds.clients == 1


@pytest.mark.parametrize("path", ["/api/runs", "/healthz"])
async def test_a_body_that_trickles_is_refused(serve: OpenServer, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(problems, "BODY_S", SOON_S)
    monkeypatch.setattr(connections, "HEAD_S", SOON_S)
    served = await serve()
    async with connected(served) as (reader, writer):
        method = b"POST" if path == "/api/runs" else b"GET"
        rest = b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        writer.write(method + b" " + path.encode() + b" HTTP/1.1\r\n" + HOST + rest)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE_S):
                while not reader.at_eof():
                    writer.write(b" ")
                    await writer.drain()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.01):
                            whole = await reader.read(65_536)
                            if whole:
                                first = whole
    if path == "/api/runs":
        assert first.startswith(b"HTTP/1.1 408 ")
        assert b'"code": "timeout"' in first
    else:
        assert first.startswith(b"HTTP/1.1 200 "), "it is answered, and its connection is closed"


async def test_connections_above_the_limit_are_told_to_come_back(
    serve: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "most_connections", lambda: 2)
    served = await serve()
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            reader, writer = await stack.enter_async_context(connected(served))
            writer.write(HEALTH)
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200 ")
        async with connected(served) as (reader, writer):
            writer.write(HEALTH)
            status, headers, problem = await ended(reader)
        assert (status, problem["code"], headers["retry-after"]) == (503, "busy", "2")

    async def asked() -> int:
        async with connected(served) as (reader, writer):
            writer.write(HEALTH)
            return int((await reader.readuntil(b"\r\n")).split()[1])

    await served.door.seen(asked, lambda status: status == 200)


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"what?\r\n\r\n", 400, "invalid"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 100_000, 431, "too_large"),
    ],
)
async def test_what_is_not_http_is_a_problem(serve: OpenServer, sent: bytes, status: int, code: str) -> None:
    served = await serve()
    async with connected(served) as (reader, writer):
        writer.write(sent)
        answered, headers, problem = await ended(reader)

    assert (answered, problem["code"]) == (status, code)
    assert headers["content-type"] == "application/problem+json"


async def test_connections_outlive_those_that_clients_keep(serve: OpenServer) -> None:
    served = await serve()

    assert served.server.config.timeout_keep_alive == KEEP_ALIVE_S > 60
    assert 1 <= most_connections() <= connections.MOST
    assert OWN_FILES > TURNED_AWAY
