"""The workers of the server's project: which there are, and the promotion of generated ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from leadhand.app.project.generated_workers import (
    Promotion,
    WorkerDocument,
    checked,
    declared_documents,
    generated_workers,
    promotion_of,
)
from leadhand.app.project.manifest import Project
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.errors import NoSuchRun, UsageError
from leadhand.server.access import Principal
from leadhand.server.problems import no_such


class Workers:
    """The workers of the project of a runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._promoting = asyncio.Lock()

    async def documents(self, principal: Principal) -> list[WorkerDocument]:
        """Return the declared workers, then the generated ones of runs that the principal may read, newest first."""
        project = self._runtime.settings.project
        if project is None:
            return []
        found = await asyncio.to_thread(lambda: [*declared_documents(project), *generated_workers(project)])
        found = checked(found, self._runtime.toolbox)
        return [each for each in found if await self._may_read(principal, each.run_id)]

    async def promotion(self, name: str, run_id: str | None, principal: Principal) -> Promotion:
        """Return the promotion of a generated worker. Raises Problem (404) for one that the principal cannot read, and
        as :func:`~leadhand.app.project.generated_workers.promotion_of` does.
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
