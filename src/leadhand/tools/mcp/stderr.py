"""What a server writes to stderr: lines of the log at debug level, the last of which explain why it did not start."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

LOGGER = logging.getLogger("leadhand.tools.mcp")
LAST_LINES = 5


class Lines:
    """The lines of one process, as they come; the last few are kept."""

    def __init__(self, server: str) -> None:
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self._server = server
        self._rest = b""

    @contextmanager
    def pipe(self) -> Generator[TextIO]:
        """Open a pipe, whose writing end the process gets; yield that end."""
        loop, (reading, writing) = asyncio.get_running_loop(), os.pipe()
        os.set_blocking(reading, False)
        loop.add_reader(reading, self._read, reading)
        try:
            with os.fdopen(writing, "w") as file:
                yield file
        finally:
            self._read(reading)
            loop.remove_reader(reading)
            os.close(reading)

    def _read(self, reading: int) -> None:
        try:
            read = os.read(reading, 65_536)
        except BlockingIOError:
            return
        if not read:  # every process that has the other end has ended
            asyncio.get_running_loop().remove_reader(reading)
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in (each.decode(errors="replace").strip() for each in lines):
            if line:
                self.last.append(line)
                LOGGER.debug("the MCP server %s wrote: %s", self._server, line)
