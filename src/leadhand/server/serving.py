"""A server that shuts down cleanly: ends streams, closes stuck connections, releases runs for the next server."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Generator
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from leadhand.app.telemetry.run_lines import FIELDS
from leadhand.core.errors import ConfigurationError

LOGGER = logging.getLogger("leadhand.server")
MOST_CONNECTIONS = 10_000
"""Open connections. Above them, or above what the system allows, requests are refused."""
KEEP_ALIVE_S = 75
"""Seconds that an idle connection stays open after a response: longer than clients keep one, so that none is reused
while it is being closed."""
HANGS_UP_AFTER_S = 3
"""Seconds that open requests have to finish after the server starts to shut down; then they are closed."""
ENDS_WITHIN_S = 5
"""Seconds after which the shutdown no longer waits."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 chooses a free port. Raises ConfigurationError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio turns off the delay of small packets (TCP_NODELAY) only for sockets that name their protocol.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen(2_048)
        except BaseException:
            listening.close()
            raise
    except socket.gaierror as error:
        raise ConfigurationError(f"unknown host {host!r}", "Use an address of this machine for --host.") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} on {host} is already in use",
                "Is another server running? Use --port to choose a different port.",
            ) from error
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            "Choose another address with --host and --port.",
        ) from error
    listening.setblocking(False)
    return listening


class Server(uvicorn.Server):
    """uvicorn's server that also ends streams on shutdown and can close a single connection."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=KEEP_ALIVE_S,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=ENDS_WITHIN_S,
                lifespan="on",
                ws="none",  # a server that offers WebSockets imports their library
                proxy_headers=False,
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        service = self._app.state.service
        service.hang_up()
        driven = len(service.driver.driving)
        hanging_up = asyncio.get_running_loop().call_later(HANGS_UP_AFTER_S, self._hang_up)
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()
        if self.force_exit:  # uvicorn then skips the shutdown of the app too
            await self.lifespan.shutdown()
        LOGGER.info("stopped", extra={FIELDS: {"runs_to_resume": driven}})

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down on the first signal, and exit immediately on the second."""
        if self.should_exit:
            self.force_exit = True
            self._hang_up()
        self.should_exit = True

    def _hang_up(self) -> None:
        """Close every connection, as if its client had disconnected."""
        for connection in list(self.server_state.connections):
            _abort(connection)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Handle signals here and do not raise them again."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def _abort(connection: object) -> None:
    transport: Any = getattr(connection, "transport", None)
    if transport is not None:
        transport.abort()
