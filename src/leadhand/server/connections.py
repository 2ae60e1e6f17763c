"""Connections with limits: how many are open, and how long a client may take to send the head of a request.

:mod:`leadhand.server.guard` limits the size of a body and the time for it.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from leadhand.server.problems import Problem, answer, busy

MOST = 10_000
"""Open connections, if the system allows this process as many files."""
OWN_FILES = 128
"""Files that the process needs besides connections."""
TURNED_AWAY = 32
"""Connections above the limit that are open at once, each only until it has its refusal."""
HEAD_S = 30.0
"""Seconds that a client has to send the head of a request."""
KEEP_ALIVE_S = 75
"""Seconds that an idle connection stays open after a response: longer than clients keep one, so that none is reused
while it is being closed."""


def most_connections() -> int:
    """Raise the limit of open files as far as needed and possible; return how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST + OWN_FILES + TURNED_AWAY
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, max(soft - OWN_FILES - TURNED_AWAY, 1))


class Connection(H11Protocol):
    """A client's connection. ``most`` is how many may be open."""

    most = MOST
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most + TURNED_AWAY:
            transport.abort()
            return
        self._refused = len(self.connections) > self.most
        self._timer = self.loop.call_later(HEAD_S, self._too_slow)

    def data_received(self, data: bytes) -> None:
        if self._refused:  # only now, since a client does not read before it has sent its request
            self._refuse(busy(f"the server has {self.most:,} open connections, which is the limit"))
            return
        super().data_received(data)
        if not getattr(self.cycle, "response_complete", True):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. Called while h11's error is being handled."""
        status = HTTPStatus(getattr(sys.exception(), "error_status_hint", HTTPStatus.BAD_REQUEST))
        if status is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            self._refuse(Problem(status, "too_large", "the headers are too large", "Send at most 64 kB of headers."))
        else:
            self._refuse(Problem(status, "invalid", "this is not a valid HTTP request", "Send HTTP/1.1."))

    def _too_slow(self) -> None:
        self._timer = None
        self._refuse(
            Problem(
                HTTPStatus.REQUEST_TIMEOUT,
                "timeout",
                f"no complete request arrived within {HEAD_S:g} s",
                "Send the whole request at once.",
            )
        )

    def _refuse(self, problem: Problem) -> None:
        """Answer outside of the app, if the protocol allows it now, and close the connection."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            response = answer(problem, "")
            headers = [*response.raw_headers, (b"connection", b"close")]
            head = h11.Response(status_code=problem.status, headers=headers, reason=problem.status.phrase.encode())
            for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
