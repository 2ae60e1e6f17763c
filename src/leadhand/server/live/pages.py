"""Pages of events in the form that is sent: each is read and encoded once for all clients."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import NamedTuple

KEPT_BYTES = 16_000_000
"""The bytes of pages that are kept; the ones that were used last stay."""
CHUNK = 65_536
"""Bytes that are sent at once. A client's timeout applies to each chunk, so a slow client is not disconnected."""
AT_ONCE = 2
"""How many pages are made at once, and how many chunks are written at once. Others wait in the order they came."""


class Chunk(NamedTuple):
    """What is sent at once: whole messages up to the one of ``seq``."""

    seq: int
    data: bytes


def chunks(messages: Iterable[tuple[int, bytes]]) -> list[Chunk]:
    """Join messages, each with the number of its event, to chunks of about ``CHUNK`` bytes."""
    found: list[Chunk] = []
    part: list[bytes] = []
    size = seq = 0
    for seq, message in messages:
        part.append(message)
        size += len(message)
        if size >= CHUNK:
            found.append(Chunk(seq, b"".join(part)))
            part, size = [], 0
    if part:
        found.append(Chunk(seq, b"".join(part)))
    return found


class Pages:
    """The pages that were used last. A page never changes, so its key must hold all that it depends on."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(AT_ONCE)
        """Take a turn to write a chunk of a replay, so that other requests are answered in between."""
        self._making = asyncio.Semaphore(AT_ONCE)
        self._pages: OrderedDict[Hashable, tuple[Chunk, ...]] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[tuple[Chunk, ...]]] = {}
        self._bytes = 0

    async def of(self, key: Hashable, make: Callable[[], Awaitable[list[Chunk]]]) -> tuple[Chunk, ...]:
        """Return a page; make it unless it is kept or somebody else is making it."""
        if key in self._pages:
            self._pages.move_to_end(key)
            return self._pages[key]
        making = self._under_way.get(key)
        if making is None:
            making = self._under_way[key] = asyncio.get_running_loop().create_task(self._make(key, make))
            making.add_done_callback(lambda done: done.cancelled() or done.exception())  # all clients may have left
        return await asyncio.shield(making)  # a client that leaves does not stop it for the others

    async def _make(self, key: Hashable, make: Callable[[], Awaitable[list[Chunk]]]) -> tuple[Chunk, ...]:
        try:
            async with self._making:
                page = tuple(await make())
        finally:
            del self._under_way[key]
        self._pages[key] = page
        self._bytes += _size(page)
        while self._bytes > KEPT_BYTES:
            _, dropped = self._pages.popitem(last=False)
            self._bytes -= _size(dropped)
        return page


def _size(page: Iterable[Chunk]) -> int:
    return sum(len(chunk.data) for chunk in page)
