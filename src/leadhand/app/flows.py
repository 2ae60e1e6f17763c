"""The flows that this process can run: the built-in ones, those of the program, and those of installed packages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from leadhand.app.arguments import json_value
from leadhand.app.toolsets import entry_points, loaded
from leadhand.core.errors import ConfigurationError, LeadhandError, UsageError
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.core.text import did_you_mean
from leadhand.core.value import Value, shown
from leadhand.core.worker import Worker
from leadhand.engine.gate import schema_problems
from leadhand.flows.flow import fault_of
from leadhand.flows.offline.rule import Rules
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.worker import Worker as ProgramWorker
from leadhand.flows.seam.worker import with_tools
from leadhand.flows.work_order.flow import WORK_ORDER

if TYPE_CHECKING:
    from leadhand.app.manifest import Project
    from leadhand.core.events import Entry
    from leadhand.flows.report.agents import BoundAgent

LOGGER = logging.getLogger("leadhand")
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
        self._rules: list[Rules] = [rules] if rules else []
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
        if flow.offline:
            self._rules.append(flow.offline)

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
        match name:
            case "report":
                from leadhand.flows.report.flow import ReportFlow

                flow = ReportFlow(self._agents)
            case "research":
                from leadhand.flows.research.flow import research

                flow = research
            case "solo":
                from leadhand.flows.solo import solo_flow

                flow = solo_flow(self._of_program)
            case _:
                from leadhand.flows.map import map_flow

                flow = map_flow(self._of_program)
        self._add(flow)
        if flow.offline:
            self._rules.insert(0, self._rules.pop())  # before those of the program's flows

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
        with _calling(found):
            found.checked_options(run.options)
        return found

    def check_code(self, run: RunDefinition, *, ended: bool = False) -> None:
        """Raise ConfigurationError if this process lacks a function or a class of a run, and warn of code that has
        changed since; of a run that has ``ended``, only functions are needed."""
        flow = self.of(run)
        recorded = {worker.name: worker for worker in run.workers if worker.code}
        if not recorded:
            return
        options = flow.checked_options(run.options)
        here = {worker.name: worker for worker in flow.workers(options)}
        for each in recorded.values():
            if each.name not in flow.own and each.name not in here:
                what = f"the worker {each.name} uses the function {each.code}, which is not in this process"
                raise ConfigurationError(what, "Continue the run from its program, with Leadhand(workers=[…]).")
        if ended:
            return
        try:
            flow.check_code(options)
        except UsageError as error:
            files = " ".join(f"--agent {worker.code}" for worker in recorded.values())
            raise ConfigurationError(error.what, f"Pass {files}, or Leadhand(agents=[…]) in Python.") from error
        for name in recorded.keys() & here.keys():
            before, now = recorded[name].fingerprint, here[name].fingerprint
            if before and now not in ("", before):
                what = "the stage %s is not the one that the run was started with: its code has changed (%s)"
                LOGGER.warning(what, name, recorded[name].code)

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run, checked and complete, as JSON. Raises UsageError for unknown or wrong ones."""
        flow = self.get(name)
        checked = flow.checked_options(flow.prepared(given))
        flow.check_code(checked)
        try:
            options = checked.model_dump(mode="json")
        except ValueError as error:
            raise UsageError(f"the options of the flow {name} cannot be stored as JSON: {error}", OPTIONS) from error
        return json_value(options, f"the options of the flow {name}", OPTIONS)

    def workers(self, name: str, options: Mapping[str, Any]) -> Sequence[Worker]:
        """The workers of a run with these options. Raises ConfigurationError if the flow fails to return them."""
        flow = self.get(name)
        with _calling(flow):
            workers = flow.workers(flow.checked_options(options))
            for worker in workers:
                if worker.output is not None:
                    schema_problems(worker.output, None)  # raises for what is not a JSON schema
            return workers

    def naming(self, tool: str) -> tuple[str, ...]:
        """Return the flows whose workers name a tool when a run sets no options."""
        found: list[str] = []
        for name in self.names():
            try:
                if any(tool in worker.tools for worker in self.workers(name, {})):
                    found.append(name)
            except (ConfigurationError, UsageError):  # it needs options, or is broken: a run of it says so
                continue
        return tuple(found)

    def has_task(self, state: RunState) -> bool:
        """Whether a flow has a part of its own in the document of a run, for which it reads the log."""
        try:
            return type(self.of(state.definition)).task is not FunctionFlow.task
        except (ConfigurationError, UsageError):
            return False

    def task(self, state: RunState, entries: Sequence[Entry]) -> Value | None:
        """Return the flow's own part of a run document; None without one, or if the flow is not in this process."""
        try:
            flow = self.of(state.definition)
            with _calling(flow):
                return flow.task(state, flow.checked_options(state.definition.options), entries)
        except LeadhandError:  # the rest of the document does not depend on it
            return None

    def offline_rules(self) -> list[Rules]:
        """Return the flows' rules for the built-in rule-based model. The list grows when further flows are loaded."""
        return self._rules


@contextmanager
def _calling(flow: FunctionFlow) -> Generator[None]:
    """Raise ConfigurationError, with the file, for whatever the code of a flow raises or returns."""
    try:
        yield
    except LeadhandError:
        raise
    except (Exception, SystemExit) as error:
        where = getattr(sys.modules.get(flow.__module__), "__file__", None) or flow.__module__
        what = fault_of(f"the flow {flow.name}", error)
        raise ConfigurationError(what, f"Fix the flow {flow.name} in {where}.") from error


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
