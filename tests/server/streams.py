"""Server-Sent Events as a browser reads them: https://html.spec.whatwg.org/multipage/server-sent-events.html"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, NamedTuple

import httpx2

PATIENCE_S = 90.0


class Streamed(NamedTuple):
    """What came: an event of the log (``message``), ``delta``, ``end``, or a comment (``comment``, its text)."""

    kind: str
    id: str | None
    data: Any


@contextlib.asynccontextmanager
async def streamed(
    http: httpx2.AsyncClient, path: str, *, headers: dict[str, str], params: dict[str, Any]
) -> AsyncGenerator[AsyncIterator[Streamed]]:
    """What a stream brings, one by one; it ends when the server closes it, and it breaks off with the block."""
    accept = {"accept": "text/event-stream", **headers}
    async with http.stream("GET", path, headers=accept, params=params, timeout=PATIENCE_S) as response:
        assert response.status_code == 200, (await response.aread()).decode()
        assert response.headers["content-type"].startswith("text/event-stream")
        async with contextlib.aclosing(_parsed(response)) as parsed:
            yield parsed


async def _parsed(response: httpx2.Response) -> AsyncGenerator[Streamed]:
    kind, id_, data = "message", None, list[str]()
    async for line in response.aiter_lines():
        if line.startswith(":"):
            yield Streamed("comment", None, line[1:].strip())
        elif not line:
            if data:
                yield Streamed(kind, id_, json.loads("\n".join(data)))
            kind, id_, data = "message", None, []
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "event":
                    kind = value
                case "id":
                    id_ = value
                case "data":
                    data.append(value)
                case _:
                    assert (name, value) == ("retry", "2000")


@contextlib.asynccontextmanager
async def together(
    streams: Iterable[contextlib.AbstractAsyncContextManager[AsyncIterator[Streamed]]],
) -> AsyncGenerator[list[AsyncIterator[Streamed]]]:
    """Several streams, open at once."""
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(each) for each in streams]


async def first(stream: AsyncIterator[Streamed], kind: str, **holds: Any) -> Streamed:
    """The next thing of a kind whose data has these fields."""
    async with asyncio.timeout(PATIENCE_S):
        async for each in stream:
            if each.kind == kind and all(each.data.get(name) == value for name, value in holds.items()):
                return each
    raise AssertionError(f"the stream ended before a {kind} with {holds}")


async def rest(stream: AsyncIterator[Streamed]) -> list[Streamed]:
    """Everything until the server closes the stream."""
    async with asyncio.timeout(PATIENCE_S):
        return [each async for each in stream]


def numbers(seen: list[Streamed]) -> list[int]:
    """The ids of what came of the log, which must be the numbers of the events."""
    messages = [each for each in seen if each.kind == "message"]
    assert all(each.id == str(each.data["seq"]) for each in messages)
    return [each.data["seq"] for each in messages]


class Text:
    """The live text of each attempt, put together as the contract says, in UTF-16 code units."""

    def __init__(self) -> None:
        self._units: dict[str, bytes] = {}

    def take(self, delta: Streamed) -> None:
        assert delta.id is None
        attempt, offset, text = (delta.data[name] for name in ("attempt", "offset", "text"))
        before = self._units.get(attempt, b"")
        if offset == 0 and not text:
            self._units[attempt] = b""
            return
        assert 2 * offset <= len(before), "a piece is missing before this one"
        piece = text.encode("utf-16-le")
        self._units[attempt] = before[: 2 * offset] + piece + before[2 * offset + len(piece) :]

    def of(self, attempt: str) -> str:
        return self._units.get(attempt, b"").decode("utf-16-le")
