"""The declared workers of a project, in its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leadhand.app.project.flows import MAP, SOLO
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.tool import DYNAMIC_WORKERS, ToolSpec
from leadhand.core.value import Json, compact_json, list_of
from leadhand.core.worker import ALL_TOOLS, TOOLSET, WILDCARDS, Worker
from leadhand.engine.gate import input_of
from leadhand.flows.seam.function import Worker as ProgramWorker
from leadhand.flows.seam.function import as_tool, with_tools
from leadhand.tools.limits import flaw
from leadhand.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project


def project_tools(project: Project | None, toolbox: Toolbox) -> list[str]:
    """Return the names of the tools on request that the toolsets of a project add to its runs.

    Raises ConfigurationError for a toolset that does not exist, and for settings that no tool has or can have.
    """
    if project is None:
        return []
    known = {tool.name: tool for tool in toolbox.known(every=True)}
    for name in project.manifest.tool_settings:
        where = project.where("tool_settings", name)
        check_worker_tools([name], where, known.values())
        if (found := flaw(known[name])) is not None:
            setting, why, how = found
            raise ConfigurationError(f"{where}: the tool {name} cannot have {setting}: {why}", how)
    toolsets = [f"{TOOLSET}{each}" for each in project.manifest.toolsets]
    check_worker_tools(toolsets, project.where("toolsets"), known.values())
    return [tool.name for tool in known.values() if tool.toolset in project.manifest.toolsets]


def declared_workers(
    project: Project | None, toolbox: Toolbox, of_program: Sequence[ProgramWorker] = ()
) -> tuple[Worker, ...]:
    """Return each worker that a project or a program declares, with the tools of its toolsets.

    Raises ConfigurationError for a worker that names a tool or a toolset that does not exist, UsageError for two of one
    name, and for a worker among tools that has the name of one of them.
    """
    files: Mapping[str, ProgramWorker] = {} if project is None else project.workers
    sources = {worker.name: source for source, worker in files.items()}
    every = {each.name: each.recorded(declared=True) for each in with_tools((*files.values(), *of_program))}
    if not every:
        return ()  # few runs need the tools on request
    known = [*toolbox.known(every=True), *map(as_tool, every.values())]
    for worker in every.values():
        check_worker_tools(worker.tools, sources.get(worker.name, f"the worker {worker.name}"), known)
        if both := [name for name in worker.tools if name in every and toolbox.find(name)]:
            what = f"{both[0]}, among the tools of {worker.name}, is a tool and a worker"
            raise UsageError(what, "Rename one of them.")
    return tuple(
        each if each.tools == (ALL_TOOLS,) and each.name not in sources else each.evolve(tools=tool_names(each, known))
        for each in every.values()
    )


def tool_names(worker: ProgramWorker | Worker, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """Return the names of those ``tools`` that a worker with these tools and toolsets may use, in their order."""
    named = worker.tools or ()
    return tuple(
        tool.name
        for tool in tools
        if tool.name in named
        or f"{TOOLSET}{tool.toolset}" in named
        or (ALL_TOOLS in named and tool.toolset != DYNAMIC_WORKERS and (tool.import_path or not tool.delegate))
    )


def worker_tools(workers: Sequence[Worker]) -> tuple[ToolSpec, ...]:
    """Return those workers as tools that are among the tools of others."""
    named = {name for worker in workers for name in worker.tools}
    return tuple(as_tool(each) for each in workers if each.declared and each.name in named)


def check_worker_tools(
    names: Iterable[str],
    where: str,
    known: Iterable[ToolSpec],
    error: type[ConfigurationError | UsageError] = ConfigurationError,
) -> None:
    """Raise an error for tools or toolsets (``toolset:web``) of a worker that are not ``known``."""
    tools = {tool.name for tool in known}
    toolsets = {f"{TOOLSET}{tool.toolset}" for tool in known if tool.toolset}
    for name in names:
        here = sorted(toolsets if name.startswith(TOOLSET) else tools)
        if name not in WILDCARDS and name not in here:
            what = "toolset" if name.startswith(TOOLSET) else "tool"
            shown, others = name.removeprefix(TOOLSET), [each.removeprefix(TOOLSET) for each in here]
            how = f"Available {what}s: {', '.join(others) or 'none'}.{did_you_mean(shown, others)}"
            raise error(f"{where}: there is no {what} {shown!r}", how)


def run_workers(
    project: Project | None,
    toolbox: Toolbox,
    flow: str,
    options: Mapping[str, Any],
    of_flow: Sequence[Worker],
    request: str,
    of_program: Sequence[ProgramWorker] = (),
) -> tuple[Worker, ...]:
    """Return the workers that a run of a flow with these options and workers has besides.

    Raises ConfigurationError for an unknown tool or toolset and for a worker with the name of a worker of the flow,
    UsageError if the flow is led by an unknown worker, or by one whose input schema the request does not match.
    """
    workers = declared_workers(project, toolbox, of_program)
    names = [worker.name for worker in of_flow]
    here = {*WILDCARDS, *names, *(worker.name for worker in workers)}
    for worker in of_flow:  # few runs need the tools on request
        lacking = [name for name in worker.tools if name not in here and toolbox.find(name) is None]
        known = toolbox.known(every=True) if lacking else ()
        check_worker_tools(lacking, f"the worker {worker.name} of the flow {flow}", known, UsageError)
    if taken := [worker.name for worker in workers if worker.name in names]:
        raise ConfigurationError(
            f"the worker {taken[0]} has the name of a worker of the flow {flow}", "Rename the worker and its file."
        )
    if flow in (SOLO, MAP) and (name := str(options.get("worker") or "")):
        check_worker(name, workers, [request] if flow == SOLO else list_of(options.get("inputs")))
    return workers


def check_worker(name: str, workers: Sequence[Worker], inputs: Sequence[Json]) -> None:
    """Raise UsageError if no declared worker has this name, or if an input (JSON as text, or JSON) does not match its
    input schema."""
    worker = next((each for each in workers if each.name == name), None)
    if worker is None:
        raise unknown_worker(name, [each.name for each in workers])
    for number, each in enumerate(inputs if worker.input is not None else (), start=1):
        _, problems = input_of(worker.input, each if isinstance(each, str) else compact_json(each))
        if problems:
            how = f"Pass JSON that matches its input schema: {compact_json(worker.input)}"
            which = "the request does not fit" if len(inputs) == 1 else f"input {number} does not fit"
            raise UsageError(f"{which} the worker {name}: {'; '.join(problems)}", how)


def unknown_worker(name: str, names: Sequence[str]) -> UsageError:
    """Return the error of a worker that is not among those with these names."""
    how = f"Choose from: {', '.join(names)}.{did_you_mean(name, names)}" if names else _DECLARE
    return UsageError(f"unknown worker {name!r}", how)


_DECLARE = "No worker is declared: pass Leadhand(workers=[…]), or name files in worker_files of leadhand.toml."
