"""Take jobs from the queue, which is Procrastinate's: only this module knows it, besides the SQL of the store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import App, PsycopgConnector
from procrastinate import jobs as queued
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.manager import JobManager

from leadhand.stores.postgres.job_queue import CARRY_OUT, DRIVE, VERSION, Job

LOGGER = logging.getLogger("leadhand.dispatch")
POLL_S = 1.0
"""Seconds after which the queue is looked at again, in case that a notification was lost."""
AGAIN_S = 1.0
"""Seconds until it is looked at again after the database could not be reached."""
AT_ONCE = {CARRY_OUT: 1, DRIVE: 8}
"""How many jobs of each kind are taken at once: one that waits for a slot keeps others from being taken."""
CONNECTIONS = 4
BEATS = 4
"""Heartbeats of a worker within the limit after which its process counts as dead."""

TakeJob = Callable[[Job], Awaitable[None]]


class _Jobs(JobManager):
    async def finish_job(self, job: queued.Job, status: queued.Status, delete_job: bool) -> None:
        """Remove a job, unless another process did: it may have taken this one for dead, or have been faster."""
        try:
            await super().finish_job(job, status, delete_job)
        except ConnectorException as error:  # if the database is away, the job is removed with this worker
            LOGGER.debug("job %s cannot be removed: %s", job.id, error.__cause__ or error)


class JobWorker:
    """Takes jobs and passes them to ``take``, which returns once they are taken over; a job is then gone.

    ``take`` raises nothing: a job that it cannot do is found again by the driver of its run, or by who looks for runs
    that nobody drives. The jobs that a dead process had taken are put back.
    """

    def __init__(self, url: str, heartbeat_limit_s: float, take: TakeJob) -> None:
        connector = PsycopgConnector(
            conninfo=url,
            min_size=1,
            max_size=CONNECTIONS,
            kwargs={"application_name": "leadhand", "connect_timeout": 10},
        )
        self._app = App(connector=connector)
        self._app.job_manager = _Jobs(connector)
        self._take = take
        self._limit_s = heartbeat_limit_s
        self._working: list[asyncio.Task[None]] = []
        for task in (CARRY_OUT, DRIVE):
            self._app.task(name=task)(self._taker(task))

    def _taker(self, task: str) -> Callable[..., Awaitable[None]]:
        async def take(version: int, run_id: str, attempts: list[str] | None = None, **_: Any) -> None:
            if version <= VERSION:  # else a newer release has written it, and its processes will do it
                await self._take(Job(task=task, run_id=run_id, attempts=tuple(attempts or ())))

        return take

    def start(self) -> None:
        """Begin to take jobs, and to put those of the dead back."""
        for queue, at_once in AT_ONCE.items():
            self._working.append(asyncio.get_running_loop().create_task(self._work(queue, at_once), name=queue))
        self._working.append(asyncio.get_running_loop().create_task(self._put_back(), name="stalled jobs"))

    async def _work(self, queue: str, at_once: int) -> None:
        while True:
            with contextlib.suppress(ProcrastinateException):  # its own log says what happened
                await self._app.open_async()
                await self._app.run_worker_async(
                    queues=[queue],
                    name=queue,
                    concurrency=at_once,
                    fetch_job_polling_interval=POLL_S,
                    delete_jobs="always",
                    update_heartbeat_interval=self._limit_s / BEATS,
                    stalled_worker_timeout=self._limit_s,
                    install_signal_handlers=False,
                    shutdown_graceful_timeout=0,
                )
            await asyncio.sleep(AGAIN_S)

    async def _put_back(self) -> None:
        """Put the jobs back that dead processes had taken: Procrastinate itself leaves them as they are."""
        jobs = self._app.job_manager
        while True:
            await asyncio.sleep(self._limit_s / BEATS)
            with contextlib.suppress(ProcrastinateException):  # its own log says what happened
                for job in await jobs.get_stalled_jobs(seconds_since_heartbeat=self._limit_s):
                    with contextlib.suppress(ConnectorException):  # another process was faster, or it is queued again
                        await jobs.retry_job(job)

    async def aclose(self) -> None:
        """Take no more jobs."""
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        self._working = []
        with contextlib.suppress(ProcrastinateException):
            await self._app.close_async()
