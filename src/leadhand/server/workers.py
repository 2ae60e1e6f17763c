"""The workers of the server's project: which there are, which runs used them, and the promotion of generated ones."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace

from leadhand.app.project.manifest import Project
from leadhand.app.runtime import Runtime
from leadhand.app.workers.generated import (
    Promotion,
    WorkerDocument,
    checked,
    declared_documents,
    generated_workers,
    promotion_of,
)
from leadhand.core.errors import NoSuchRun, UnreadableRun, UsageError
from leadhand.ports.runs import RunListing
from leadhand.server.access import Principal
from leadhand.server.problems import no_such

RUNS_READ = 100
"""The newest runs among which those that used a worker are looked for."""
MOST_RUNS = 20
"""The most runs that the document of a worker names."""
Use = tuple[str, str | None]
"""A worker that a run used: its name, and the run that generated it (None: the project declares it)."""


class Workers:
    """The workers of the project of a runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._promoting = asyncio.Lock()
        self._used: dict[str, tuple[int, frozenset[Use]]] = {}
        """By run: up to which event its log was read, and the workers that it used."""

    async def documents(self, principal: Principal) -> list[WorkerDocument]:
        """Return the declared workers, then the generated ones of runs that the principal may read, newest first."""
        project = self._runtime.settings.project
        if project is None:
            return []
        found = await asyncio.to_thread(lambda: [*declared_documents(project), *generated_workers(project)])
        found = checked(found, self._runtime.toolbox)
        readable = {each.run_id: await self._may_read(principal, each.run_id) for each in found}
        runs = await self._runs(principal)
        return [
            each.evolve(runs=runs.get((each.name, each.run_id), [])[:MOST_RUNS])
            for each in found
            if readable[each.run_id]
        ]

    async def promotion(self, name: str, run_id: str | None, principal: Principal) -> Promotion:
        """Return the promotion of a generated worker. Raises Problem (404) for one that the principal cannot read, and
        as :func:`~leadhand.app.workers.generated.promotion_of` does.
        """
        try:
            found = await asyncio.to_thread(promotion_of, self._project(), name, run_id)
        except UsageError as error:
            raise no_such(error.what, error.how) from error
        if not await self._may_read(principal, found.worker.run_id):
            raise no_such(f"there is no generated worker {name!r}", "GET /api/workers lists the workers.")
        return found

    async def promote(self, name: str, run_id: str | None, digest: str, principal: Principal) -> Promotion:
        """Carry out a promotion; new runs know the worker. Raises as :meth:`promotion` and its promotion do."""
        async with self._promoting:
            found = await self.promotion(name, run_id, principal)
            project = await asyncio.to_thread(found.carry_out, self._runtime.toolbox, digest)
            self._runtime.settings = replace(self._runtime.settings, project=project)
        return found

    def _project(self) -> Project:
        project = self._runtime.settings.project
        if project is None:
            raise no_such("this server has no project", "Start it in the directory of a leadhand.toml.")
        return project

    async def _may_read(self, principal: Principal, run_id: str | None) -> bool:
        """Whether the principal may read a run; files of runs that are deleted are for those who read all."""
        if run_id is None or principal.reads_of is None:
            return True
        try:
            return principal.may_read((await self._runtime.store.run(run_id)).key_id)
        except NoSuchRun:
            return False

    async def _runs(self, principal: Principal) -> dict[Use, list[str]]:
        """Return the newest runs that the principal may read, by the workers that they used."""
        found: dict[Use, list[str]] = defaultdict(list)
        for listing in await self._runtime.store.runs(limit=RUNS_READ, key_id=principal.reads_of):
            for use in await self._uses(listing):
                found[use].append(listing.run_id)
        return found

    async def _uses(self, listing: RunListing) -> frozenset[Use]:
        seq, uses = self._used.get(listing.run_id, (0, frozenset[Use]()))
        if seq == listing.head_seq:
            return uses
        try:
            state = await self._runtime.load(listing.run_id)
        except (NoSuchRun, UnreadableRun):  # it must not hide the workers
            return uses
        workers = {each.step.worker for each in state.steps.values()}
        uses = frozenset(
            (name, listing.run_id if name in state.workers else None) for name in workers if state.is_worker(name)
        )
        self._used[listing.run_id] = (listing.head_seq, uses)
        return uses
