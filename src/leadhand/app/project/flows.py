"""The flows that this process can run: the built-in ones, those of the program, and those of installed packages."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pydantic import BaseModel

from leadhand.app.arguments import json_value
from leadhand.app.project.toolsets import entry_points, loaded
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.core.text import did_you_mean
from leadhand.core.value import Json, one_line, shown
from leadhand.core.worker import Worker
from leadhand.engine.gate import schema_problems
from leadhand.flows.offline.rule import Rules
from leadhand.flows.seam.function import FunctionFlow, with_tools
from leadhand.flows.seam.function import Worker as ProgramWorker
from leadhand.flows.work_order.flow import WORK_ORDER

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project
    from leadhand.flows.report.agents import BoundAgent

GROUP = "leadhand.flows"
"""The entry points by which installed packages offer flows."""
FlowName = Literal["work-order", "report", "research", "solo", "map"]
"""The built-in flows."""
DEFAULT: FlowName = "work-order"
REPORT: FlowName = "report"
RESEARCH: FlowName = "research"
SOLO: FlowName = "solo"
MAP: FlowName = "map"
LATE = (REPORT, RESEARCH, SOLO, MAP)
"""The built-in flows that are loaded when they are named: most processes need none, and they take long to import."""
OPTIONS = "Pass options that are plain JSON; put long material into files."


class FlowRegistry:
    """Flows by name and version. New runs use the highest version; older versions resume the runs they started."""

    def __init__(
        self,
        flows: Iterable[FunctionFlow] = (),
        agents: Mapping[str, BoundAgent] | None = None,
        rules: Rules | None = None,
        workers: Iterable[ProgramWorker] = (),
    ) -> None:
        """``rules`` are those of a project for the built-in model, ``workers`` those that every run has."""
        self._flows: dict[str, FunctionFlow] = {}
        self._rules = rules or {}
        self._agents = agents or {}
        self._installed = False
        self._of_program: dict[str, ProgramWorker] = {}
        self._for_all = tuple(workers)
        for worker in self._for_all:
            if not isinstance(worker, ProgramWorker):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UsageError(f"{shown(worker)} is not a worker", "Pass a list: workers=[Worker(…)].")
            self.keep(worker)
        self._add(WORK_ORDER)
        for each in flows:
            flow = checked_flow(each)
            self._load_late(flow.name)
            self._add(flow)

    def _add(self, flow: FunctionFlow) -> None:
        if flow.name in self._flows:
            raise UsageError(f"there is more than one flow {flow.name!r}", "Change the name of one of them.")
        self._flows[flow.name] = flow

    @property
    def agents(self) -> Mapping[str, BoundAgent]:
        """The Python classes of this process that carry out stages of reports, by name."""
        return self._agents

    def keep(self, worker: ProgramWorker) -> None:
        """Keep a worker of the program, with those among its tools, for the runs that name it."""
        for each in with_tools([worker]):
            self._of_program |= {each.name: each, each.recorded(declared=True).fingerprint: each}

    def tools_of_workers(self, *workers: ProgramWorker) -> list[Any]:
        """Return the tools that workers were given as they are; without any, those of the program and its flows."""
        named = [each for flow in self._flows.values() for each in flow.named]
        return [
            tool for one in workers or (*self._for_all, *named) for each in with_tools([one]) for tool in each.own_tools
        ]

    def output_of(self, run: RunDefinition) -> Any:
        """Return the output of the worker of the program that carries a run out by itself; None without one."""
        worker = self._of_program.get(str(run.options.get("worker"))) if run.flow in (SOLO, MAP) else None
        return None if worker is None else worker.output

    def of_program(
        self, worker: ProgramWorker | None, flow: str, options: Mapping[str, Any], project: Project | None
    ) -> Sequence[ProgramWorker]:
        """Return the workers of the program that a new run has: those of all runs, and the one that carries it out,
        ``worker`` or, unless the project has one of its name, the latest one with the name in its options."""
        name = str(options.get("worker") or "") if flow in (SOLO, MAP) else ""
        of_project = () if project is None else [each.name for each in project.workers.values()]
        if worker is None and name not in of_project:
            worker = self._of_program.get(name)
        return self._for_all if worker is None else (*self._for_all, worker)

    def _find(self, name: str) -> FunctionFlow | None:
        """Return a flow, loaded when it is first looked up; None if the name is not known."""
        self._load_late(name)
        if name not in self._flows:
            self._load_installed()
        return self._flows.get(name)

    def _load_late(self, name: str) -> None:
        """Load a built-in flow, once, when it is named."""
        if name not in LATE or name in self._flows:
            return
        if name == REPORT:
            from leadhand.flows.report.flow import ReportFlow

            self._add(ReportFlow(self._agents))
        elif name == RESEARCH:
            from leadhand.flows.research.flow import research

            self._add(research)
        else:
            from leadhand.flows import map, solo

            self._add((solo.solo_flow if name == SOLO else map.map_flow)(self._of_program))

    def _load_installed(self) -> None:
        """Load the flows of installed packages, once, when a name is looked up that is not known yet."""
        if self._installed:
            return
        self._installed = True
        for point in entry_points(GROUP):
            if point.name not in (*self._flows, *LATE):
                loaded(point, "flow", lambda found: self._add(checked_flow(found)))

    def names(self) -> list[str]:
        """The names of all flows."""
        self._load_installed()
        return sorted({*self._flows, *LATE})

    def get(self, name: str) -> FunctionFlow:
        """The flow of this name. Raises UsageError for a name that is not known."""
        found = self._find(name)
        if found is None:
            names = self.names()
            raise UsageError(f"unknown flow {name!r}", f"Choose from: {', '.join(names)}.{did_you_mean(name, names)}")
        return found

    def of(self, run: RunDefinition) -> FunctionFlow:
        """The flow of a run. Raises ConfigurationError if it is not here, UsageError if it lacks the run's options."""
        found = self._find(run.flow)
        if found is None:
            raise ConfigurationError(
                f"the run uses the flow {run.flow}, which is not here",
                f"Give the file that defines it: --flows {run.flow_file or 'FILE'}, or Leadhand(flows=[…]) in Python.",
            )
        found.checked_options(run.options)
        return found

    def check_code(self, run: RunDefinition, *, ended: bool = False) -> None:
        """Raise ConfigurationError if this process lacks a function or a class of a run; of a run that has ``ended``,
        only functions are needed."""
        flow, coded = self.of(run), [worker for worker in run.workers if worker.code]
        try:
            known: Sequence[Worker] = flow.workers(flow.checked_options(run.options)) if coded else ()
        except UsageError as error:
            if ended:
                return
            files = " ".join(f"--agent {worker.code}" for worker in coded)
            raise ConfigurationError(error.what, f"Pass {files}, or Leadhand(workers=[…]) in Python.") from error
        here = {*flow.own, *(worker.name for worker in known)}
        for each in coded:
            if each.name not in here:
                what = f"the worker {each.name} uses the function {each.code}, which is not in this process"
                raise ConfigurationError(what, "Continue the run from its program, with Leadhand(workers=[…]).")

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run, checked and complete, as JSON. Raises UsageError for unknown or wrong ones."""
        flow = self.get(name)
        checked = flow.checked_options(flow.prepared(given))
        try:
            options = checked.model_dump(mode="json")
        except ValueError as error:
            raise UsageError(f"the options of the flow {name} cannot be stored as JSON: {error}", OPTIONS) from error
        return json_value(options, f"the options of the flow {name}", OPTIONS)

    def workers(self, name: str, options: Mapping[str, Any]) -> Sequence[Worker]:
        """The workers of a run with these options. Raises ConfigurationError for one with an invalid output."""
        flow = self.get(name)
        workers = flow.workers(flow.checked_options(options))
        for worker in workers:
            try:
                schema_problems(worker.output or {}, None)
            except ValueError as error:
                what = f"the output of the worker {worker.name} is not a JSON schema: {one_line(error)}"
                file = getattr(sys.modules.get(flow.__module__), "__file__", flow.__module__)
                raise ConfigurationError(what, f"Fix the flow {name} in {file}.") from error
        return workers

    def task(self, state: RunState) -> BaseModel | None:
        """Return the flow's own part of a run document; None without one, or if the flow is not in this process."""
        try:
            return self.of(state.definition).task(state)
        except Exception:  # it may be code of the project, and the rest of the document does not depend on it
            return None

    def offline_rules(self, name: str) -> tuple[Rules, ...]:
        """Return the rules of the built-in model for the workers of a flow: its own, then those of the project."""
        found = self._find(name)
        return (self._rules,) if found is None else (found.offline, self._rules)


def checked_flow(flow: object) -> FunctionFlow:
    """Return a flow. Raises UsageError for anything else."""
    if not isinstance(flow, FunctionFlow):
        raise UsageError(f"{shown(flow)} is not a flow", "Pass async functions with @flow above them.")
    return flow


def file_of(flow: FunctionFlow) -> str:
    """The value of ``--flows`` that finds a flow again; "" if it needs none, or if no file or module defines it."""
    module = sys.modules.get(flow.__module__)
    if module is None or vars(module).get(flow.function.__name__) is not flow:
        return ""
    if module.__name__.startswith(("leadhand.", "__main__")) or module.__name__ in {
        point.module for point in entry_points(GROUP)
    }:
        return ""
    return module.__name__ if "." in module.__name__ else str(module.__file__)


# --- runs that one worker carries out: alone, or for many inputs -----------------------------------------------------

HOW = "Pass a Worker, or the name of one of the project."
INPUTS = "Pass a list of texts or of JSON objects."
MOST_INPUTS = 100_000


class Led(NamedTuple):
    """A run as its door starts it; ``worker`` is one of the program."""

    request: str
    flow: str
    options: dict[str, Any]
    worker: ProgramWorker | None = None


def led(
    request: str,
    flow: str,
    options: Mapping[str, Any],
    *,
    worker: object = None,
    inputs: object = None,
) -> Led:
    """Return what a run is started with. With a ``worker``, it carries the run out; with ``inputs``, each of them.

    Raises UsageError for what cannot be used, and for what excludes each other.
    """
    if worker is None and inputs is None:
        return Led(request, flow, dict(options))
    if worker is None:
        raise UsageError("there are inputs, and no worker that they are for", "Name a worker.")
    if flow not in (DEFAULT, MAP if inputs is not None else SOLO):
        raise UsageError("a worker and a flow exclude each other", "Give one of them.")
    if (
        not isinstance(worker, ProgramWorker | str)
        or not (name := worker if isinstance(worker, str) else worker.name).strip()
    ):
        raise UsageError(f"{shown(worker)} is not a worker", HOW)
    found = worker if isinstance(worker, ProgramWorker) else None
    if inputs is None:
        return Led(request, SOLO, {**options, "worker": name}, found)
    if request:
        raise UsageError("a request and inputs exclude each other", "Put what is the same for all into the worker.")
    every = plain_inputs(inputs)
    return Led(f"{name}: {len(every):,} inputs", MAP, {**options, "worker": name, "inputs": every}, found)


def plain_inputs(inputs: object) -> list[Json]:
    """Return inputs as JSON. Raises UsageError for what is not a list of JSON, and for none or too many."""
    if isinstance(inputs, str | bytes | Mapping) or not isinstance(inputs, Iterable):
        raise UsageError(f"the inputs are not a list: {shown(cast('object', inputs))}", INPUTS)
    found = [json_value(_plain(each), "an input", INPUTS) for each in cast("Iterable[object]", inputs)]
    if not 1 <= len(found) <= MOST_INPUTS:
        raise UsageError(f"there are {len(found):,} inputs", f"Pass 1 to {MOST_INPUTS:,}.")
    return found


async def listed(items: Iterable[Any] | AsyncIterable[Any]) -> object:
    """Return the items of an iterable, also of an asynchronous one."""
    if isinstance(items, AsyncIterable):
        return [each async for each in cast("AsyncIterator[Any]", items)]
    return items


def lines_of_json(path: str) -> list[Json]:
    """Return the values in a file with one of JSON on each line; ``-`` is stdin.

    Raises UsageError, with the line, for a file that cannot be read.
    """
    found: list[Json] = []
    try:
        text = sys.stdin.read() if path == "-" else Path(path).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read the inputs {path}: {why}", "Name a file with one JSON value a line.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            found += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            how = "Write one value on each line, text in quotes."
            raise UsageError(f"{path}:{number}: the line is not JSON: {one_line(error)}", how) from error
    return found


def _plain(given: object) -> object:
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json")
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return dataclasses.asdict(given)
    return given
