"""What a server and `leadhand work` do for the runs of other processes: they take jobs from the queue."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from leadhand.app.run_settings import fits_of
from leadhand.app.runtime.driver import Driver
from leadhand.app.runtime.membership import note_refusal
from leadhand.core.errors import LeadhandError, RunOwned, UsageError
from leadhand.dispatch.cluster.dispatcher import ClusterDispatcher
from leadhand.dispatch.cluster.hosted_runs import HostedRun, HostedRuns
from leadhand.dispatch.cluster.job_worker import JobWorker
from leadhand.flows.closing import policy_of
from leadhand.ports.hosts import HostKind
from leadhand.stores.postgres.job_queue import CARRY_OUT, DRIVE, Job

LOGGER = logging.getLogger("leadhand")


class ClusterHost:
    """Takes jobs while it is open: it carries out attempts of runs, and drives runs that need a driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._runtime = driver.runtime
        settings = self._runtime.settings
        assert isinstance(self._runtime.dispatcher, ClusterDispatcher)
        self._dispatcher = self._runtime.dispatcher
        self._hosted = HostedRuns(self._runtime.store, self._dispatcher, self._open_run, self._runtime.forget)
        self._jobs = JobWorker(settings.database, settings.heartbeat_limit_s, self._take)
        self._refused: set[tuple[str, str]] = set()

    async def start(self, kind: HostKind) -> None:
        """Show this process among the hosts, and begin to take jobs. Raises StoreError."""
        assert self._runtime.cluster is not None
        await self._runtime.cluster.join(kind)
        self._jobs.start()

    async def _take(self, job: Job) -> None:
        try:
            if job.task == CARRY_OUT:
                await self._hosted.carry_out(job.run_id, job.attempts)
            else:
                state = await self._runtime.take_over(job.run_id)
                LOGGER.info("driving run %s", job.run_id)
                self._driver.drive(state)
        except (RunOwned, UsageError):
            return  # another process was faster, or the run is over
        except LeadhandError as error:
            if job.task == DRIVE:
                with contextlib.suppress(LeadhandError):
                    await note_refusal(self._runtime.store, job.run_id, error.what)
            said = (job.run_id, error.what)
            if said not in self._refused:
                self._refused.add(said)
                LOGGER.warning("run %s is left to other hosts: %s. %s", job.run_id, error.what, error.how)

    async def _open_run(self, run_id: str) -> HostedRun:
        state = await self._runtime.load(run_id)
        self._runtime.check_resumable(state)
        await self._runtime.models.learn(state.definition.models)
        flow = self._runtime.flows.of(state.definition)
        fits = fits_of(None, state.definition.worker(state.definition.shape))
        runtime = self._runtime
        given = {"fits": fits, "verifier": runtime.verifier, "deps": runtime.toolbox.deps_of(run_id)}
        policy = policy_of(flow, state.definition, **given)
        return HostedRun(state, policy, self._runtime.log(run_id).unpack)

    async def drain(self, grace_s: float) -> None:
        """Take no new work, hand over the runs that are driven here, and wait until what was begun here is finished.

        After ``grace_s`` seconds, what is not finished is given back, and continues on other hosts.
        """
        runtime, dispatcher = self._runtime, self._dispatcher
        assert runtime.cluster is not None
        await runtime.cluster.drain()
        await self._jobs.aclose()
        dispatcher.draining = True
        driving = dict(self._driver.driving)
        for run_id, task in driving.items():
            if dispatcher.is_busy_with(run_id):
                await self._hosted.follow(run_id)  # what was begun here must hear when its run is cancelled
            task.cancel()
        await asyncio.gather(*driving.values(), return_exceptions=True)
        for run_id in driving:
            await runtime.cluster.hand_over(run_id)
        await dispatcher.idle(grace_s)

    async def aclose(self) -> None:
        """Take no more jobs, and stop following the runs of others."""
        await self._jobs.aclose()
        await self._hosted.aclose()
