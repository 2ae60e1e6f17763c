"""Messages between the processes that share a database, which are never stored: NOTIFY, on a session of their own.

A session hears what others send while it is connected. What is sent while the server cannot be reached is lost.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from leadhand.core.errors import StoreError
from leadhand.stores.connection import Connection, Database
from leadhand.stores.threads import Service, Wakeups

CHANNEL = "leadhand"
LARGEST_MESSAGE = 7_900
"""The most bytes of a message, in UTF-8: PostgreSQL's limit is 8,000."""
WAIT_S = 0.1
"""The longest that a message waits until it is sent."""
AGAIN_S = 1.0
"""Seconds between two tries to connect."""
MOST_WAITING = 1_000
"""Messages that wait to be sent; of more, the oldest are dropped."""
SEND = f"SELECT pg_notify('{CHANNEL}', message) FROM json_array_elements_text(CAST(? AS JSON)) AS message"  # noqa: S608

Hear = Callable[[str], None]


class MessageBus:
    """Sends messages to the other processes, and calls ``hear`` with theirs, on the event loop that it was given on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[str] = deque(maxlen=MOST_WAITING)
        self._closed = threading.Event()
        self._thread: Service | None = None

    def listen(self, hear: Hear, connected: Callable[[], None]) -> None:
        """Begin, once; ``connected`` is called whenever a session begins, which has missed all earlier messages."""
        if self._thread is None and not self._closed.is_set():
            self._loop, self._hear, self._connected = asyncio.get_running_loop(), hear, connected
            self._thread = Service("store-messages", self._work)

    def send(self, messages: Sequence[str]) -> None:
        """Send messages within 100 ms, in order."""
        self._waiting.extend(messages)

    async def aclose(self) -> None:
        """End the thread."""
        self._closed.set()
        if self._thread is not None:
            await self._thread.ended()

    # --- on the thread ---

    def _work(self) -> None:
        while not self._closed.is_set():
            connection: Connection | None = None
            with suppress(StoreError):
                connection = self._database.connect(writes=False)
                connection.execute("SET synchronous_commit = off")  # a message that is lost is harmless
                connection.execute(f"LISTEN {CHANNEL}")
                self._call(self._connected)
                while not self._closed.is_set():
                    self._pass_on(connection)
            if connection is not None:
                connection.close()
            self._closed.wait(AGAIN_S)

    def _pass_on(self, connection: Connection) -> None:
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if waiting:
            connection.execute(SEND, (json.dumps(waiting, ensure_ascii=False),))
        for message in connection.messages(WAIT_S):
            self._call(self._hear, message)

    def _call(self, function: Callable[..., None], *arguments: str) -> None:
        wakeups = Wakeups()
        wakeups.call(self._loop, function, *arguments)
        wakeups.send()
