"""A stream of Server-Sent Events to one client, whose only state is a cursor in a run's log.

An idle stream is one task; a second exists while there is something to send. A client that does not read is cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from leadhand.core.errors import UnreadableRun
from leadhand.server.live.drafts import Reading
from leadhand.server.live.feeds import Feed, Feeds, as_json
from leadhand.server.live.pages import CHUNK

CUT_AFTER_S = 30.0
BEAT_S = 15.0
"""Seconds between two heartbeats."""
SMALL = 16_384
"""Bytes that are written without taking turns with other streams."""
RETRY_MS = 2_000
"""How long a browser waits before it reconnects."""
HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}

Cut = Callable[[Scope], None]
"""Closes a client's connection immediately; data in transit is lost."""


class EventStream(Response):
    """The response that streams a run's events above ``after``, or with ``view``, the changes to its view.

    ``welcome`` returns at every heartbeat whether the client may still watch; ``gone`` is called at the end.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        feeds: Feeds,
        run_id: str,
        *,
        after: int = 0,
        brief: bool = False,
        view: bool = False,
        welcome: Callable[[], Awaitable[bool]] | None = None,
        gone: Callable[[], None] = lambda: None,
        cut: Cut = lambda _: None,
        cut_after_s: float = CUT_AFTER_S,
    ) -> None:
        super().__init__(None, headers=HEADERS)
        del self.headers["content-length"]
        self._feeds = feeds
        self._run_id = run_id
        self._after = after
        self._brief = brief
        self._view = view
        self._welcome = welcome
        self._gone = gone
        self._cut = cut
        self._cut_after_s = cut_after_s
        self._feed: Feed | None = None
        self._drafts: Reading | None = None
        self._sending: asyncio.Task[None] | None = None
        self._retry = b"retry: %d\n" % RETRY_MS
        self._more = self._beat = self._leaving = self._over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._send = scope, send
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            feed = await self._feeds.join(self._run_id, self)
            try:
                self._feed = feed
                self.poke()
                if self._feeds.closed:
                    self.leave()
                while not await self._disconnected(receive):
                    self._beat = True
                    self.poke()
            finally:
                self._over = True
                if self._sending is not None:
                    self._sending.cancel()
                    await asyncio.gather(self._sending, return_exceptions=True)
                await self._feeds.part(feed, self)
        finally:
            self._gone()

    async def _disconnected(self, receive: Receive) -> bool:
        """Wait until the client disconnects, at most until the next heartbeat; return whether it did."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEAT_S):
                while (await receive())["type"] != "http.disconnect":
                    pass
                return True
        return False

    def poke(self) -> None:
        self._more = True
        if self._sending is None and self._feed is not None and not self._over:
            self._sending = asyncio.get_running_loop().create_task(self._bring_forward(self._feed))

    def leave(self) -> None:
        self._leaving = True
        self.poke()

    async def _bring_forward(self, feed: Feed) -> None:
        """Send everything that is available. A client that does not read times out."""
        try:
            while self._more and not self._over:
                self._more = False
                await self._send_lines(feed)
                await self._send_drafts(feed)
                await self._send_the_rest(feed)
        except TimeoutError:
            self._over = True
            self._cut(self._scope)
        except UnreadableRun as error:  # reconnecting would not help
            self._over = True
            end = as_json({"status": feed.end, "last_seq": self._after, "error": error.what, "how": error.how})
            with contextlib.suppress(TimeoutError):
                await self._put(self._first(f"event: end\ndata: {end}\n\n".encode()), more=False)
        except Exception:  # the feed reports what cannot be read, and the client gets an error when it reconnects
            self._over = True
            with contextlib.suppress(TimeoutError):
                await self._put(b"", more=False)
        finally:
            self._sending = None

    async def _send_lines(self, feed: Feed) -> None:
        while not self._leaving:
            following = feed.view_after(self._after) if self._view else feed.after(self._after, brief=self._brief)
            if not (found := await following):
                return
            for chunk in found:
                await self._write(feed, self._first(chunk.data))
                self._after = chunk.seq
                if self._leaving:
                    return

    async def _send_drafts(self, feed: Feed) -> None:
        drafts = feed.drafts()
        if self._drafts is None:
            if not drafts:
                return
            self._drafts = Reading()
        pieces = self._drafts.news(drafts)
        if not drafts:
            self._drafts = None
        if pieces and not self._leaving:
            deltas = "".join(f"event: delta\ndata: {as_json(each._asdict())}\n\n" for each in pieces)
            await self._put(self._first(deltas.encode()))

    async def _send_the_rest(self, feed: Feed) -> None:
        """Send the heartbeat. End the stream when all of an ended run was sent, or the client must disconnect."""
        if self._beat:
            self._beat = False
            if self._welcome is not None and not await self._welcome():
                self._leaving = True
            else:
                await self._put(b": ping\n\n")
        if self._leaving:
            self._over = True
            await self._put(b"", more=False)
        elif feed.end is not None and self._after >= feed.head:
            self._over = True
            end = as_json({"status": feed.end, "last_seq": feed.head})
            await self._put(self._first(f"event: end\ndata: {end}\n\n".encode()), more=False)

    def _first(self, events: bytes) -> bytes:
        """Put ``retry`` into the block of the first event: some clients take a block of its own for an event."""
        events, self._retry = self._retry + events, b""
        return events

    async def _write(self, feed: Feed, data: bytes) -> None:
        """Send events. Streams take turns to write many, so that other requests are answered in between."""
        if len(data) <= SMALL:
            await self._put(data)
            return
        for start in range(0, len(data), CHUNK):
            await self._put(b"")  # wait for the client before the turn, not in it
            async with feed.pages.turns:
                await self._put(data[start : start + CHUNK])
                await asyncio.sleep(0)

    async def _put(self, body: bytes, *, more: bool = True) -> None:
        """Send. Raises TimeoutError if the client does not read for too long."""
        async with asyncio.timeout(self._cut_after_s):
            await self._send(_body(body, more=more))


def _body(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}
