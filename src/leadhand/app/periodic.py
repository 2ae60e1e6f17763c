"""Tasks in the background of a process that look for work at intervals."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import ClassVar

from leadhand.core.errors import StoreError


class Periodic(ABC):
    """Looks for work every ``every_s`` seconds. Logs once that the database does not answer, until it answers again."""

    name: ClassVar[str]
    stopped: ClassVar[str]
    """What is not done while the database does not answer."""
    logger: ClassVar[logging.Logger]

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def look(self) -> None:
        """Do what there is to do. Raises StoreError."""

    def start(self) -> None:
        """Start the task."""
        self._task = asyncio.get_running_loop().create_task(self._look_on(), name=self.name)

    async def aclose(self) -> None:
        """Stop the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look_on(self) -> None:
        failed = False
        while True:
            try:
                await self.look()
                failed = False
            except StoreError as error:
                if not failed:
                    self.logger.warning("%s while the database does not answer: %s", self.stopped, error.what)
                failed = True
            await asyncio.sleep(self._every_s)
