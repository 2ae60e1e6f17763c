"""The declared workers of a project, as roles of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.app.flows import WORKER
from leadhand.domain.errors import ConfigurationError, UsageError
from leadhand.domain.run import ALL_TOOLS, Role
from leadhand.domain.text import did_you_mean
from leadhand.domain.tool import ToolSpec
from leadhand.ports import Workshop
from leadhand.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from leadhand.app.manifest import Project


def project_tools(project: Project | None, toolbox: Toolbox) -> list[str]:
    """Return the names of the tools on request that the toolsets of a project add to its runs.

    Raises ConfigurationError for a toolset that does not exist.
    """
    if project is None:
        return []
    known = toolbox.known(every=True)
    _check_toolsets(project.manifest.toolsets, known, str(project.path))
    return [tool.name for tool in known if tool.toolset in project.manifest.toolsets]


def worker_roles(project: Project | None, toolbox: Toolbox) -> tuple[Role, ...]:
    """Return a role for each declared worker of a project.

    Raises ConfigurationError for a worker that names a tool or a toolset that does not exist.
    """
    if project is None:
        return ()
    known = toolbox.known(every=True)
    names = [tool.name for tool in known]
    for worker in project.workers:
        _check_toolsets(worker.toolsets, known, worker.source)
        if unknown := [name for name in worker.tools if name not in names and name != ALL_TOOLS]:
            raise ConfigurationError(
                f"{worker.source}: there is no tool {unknown[0]!r}",
                f"Available tools: {', '.join(names) or 'none'}.{did_you_mean(unknown[0], names)}",
            )
    return tuple(worker.role(known).evolve(counts=True) for worker in project.workers)


class ProjectParts(NamedTuple):
    """What a project adds to the definition of a run: workers as roles, and the names of the tools that a run needs."""

    workers: tuple[Role, ...] = ()
    tools: tuple[str, ...] = ()
    nested_workers: bool = False


def project_parts(
    project: Project | None, toolbox: Toolbox, flow: str, options: Mapping[str, Any], roles: Sequence[Role]
) -> ProjectParts:
    """Return what a project adds to a run of a flow with these options and roles, and the tools of all roles.

    Raises ConfigurationError for an unknown tool or toolset, UsageError if the flow is led by an unknown worker.
    """
    workers = worker_roles(project, toolbox)
    if flow == WORKER:
        check_worker(str(options.get("worker")), workers)
    tools = (*project_tools(project, toolbox), *(name for role in (*roles, *workers) for name in role.tools))
    return ProjectParts(workers, tools, project is not None and project.manifest.nested_creation)


def workshop_of(project: Project | None) -> Workshop | None:
    """Return what keeps the workers that runs of a project make; None without a directory for them."""
    if project is None or project.generated_workers is None:
        return None
    from leadhand.app.workshop import ProjectWorkshop  # most processes have no project

    return ProjectWorkshop(project, project.generated_workers)


def check_worker(name: str, workers: Sequence[Role]) -> None:
    """Raise UsageError if no declared worker has this name."""
    names = [worker.name for worker in workers]
    if name not in names:
        how = f"There are: {', '.join(names)}.{did_you_mean(name, names)}" if names else _DECLARE
        raise UsageError(f"unknown worker {name!r}", how)


_DECLARE = "The project declares none: name its files in worker_files of leadhand.toml."


def _check_toolsets(wanted: Sequence[str], known: Sequence[ToolSpec], where: str) -> None:
    toolsets = sorted({tool.toolset for tool in known if tool.toolset})
    if unknown := [name for name in wanted if name not in toolsets]:
        raise ConfigurationError(
            f"{where}: there is no toolset {unknown[0]!r}",
            f"Available toolsets: {', '.join(toolsets) or 'none'}.{did_you_mean(unknown[0], toolsets)}",
        )
