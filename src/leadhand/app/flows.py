"""The flows that this process can run: those that ship, those of the program, and those of installed packages."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

from pydantic_core import PydanticSerializationError

from leadhand.app.arguments import json_value
from leadhand.domain.errors import ConfigurationError, UsageError
from leadhand.domain.run import Role, RunDefinition
from leadhand.flows.flow import Flow
from leadhand.flows.offline.rule import Rules
from leadhand.flows.work_order.flow import WorkOrderFlow

GROUP = "leadhand.flows"
"""The entry points by which installed packages offer flows."""
DEFAULT = "work-order"
OPTIONS = "Pass options that are plain JSON; put long material into files."


class FlowRegistry:
    """Flows by name and version. Of several versions, new runs take the highest; others resume runs they started."""

    def __init__(self, flows: Iterable[Flow | type[Flow]] = ()) -> None:
        self._flows: dict[str, dict[int, Flow]] = {}
        self._add(WorkOrderFlow())
        for each in flows:
            self._add(checked_flow(each))
        self._installed = False

    def _add(self, flow: Flow) -> None:
        versions = self._flows.setdefault(flow.name, {})
        if flow.version in versions:
            raise UsageError(
                f"there are two flows {flow.name!r} of version {flow.version}",
                "Give one of them another name, or another version.",
            )
        versions[flow.version] = flow

    def _load_installed(self) -> None:
        """Take in the flows of installed packages, once: only a name that is not known yet asks for them."""
        if self._installed:
            return
        self._installed = True
        for point in entry_points(group=GROUP):
            if point.name not in self._flows:
                try:
                    self._add(checked_flow(point.load()))
                except Exception as error:
                    raise ConfigurationError(
                        f"the flow {point.name} of {point.value} cannot be loaded: {error}",
                        "Correct or uninstall the package that offers it.",
                    ) from error

    def names(self) -> list[str]:
        """The names of all flows."""
        self._load_installed()
        return sorted(self._flows)

    def get(self, name: str) -> Flow:
        """The flow of this name in its highest version. Raises UsageError for a name that is not known."""
        if name not in self._flows:
            self._load_installed()
        versions = self._flows.get(name)
        if versions is None:
            near = get_close_matches(name, self._flows, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"there is no flow {name!r}", f"There are: {', '.join(self.names())}.{hint}")
        return versions[max(versions)]

    def of(self, run: RunDefinition) -> Flow:
        """The flow of a run, in its version. Raises ConfigurationError if it is not here."""
        if run.flow not in self._flows:
            self._load_installed()
        found = self._flows.get(run.flow, {}).get(run.flow_version)
        if found is None:
            raise ConfigurationError(
                f"the run uses the flow {run.flow} version {run.flow_version}, which is not here",
                f"Give the file that defines it: --flows {run.flow_file or 'FILE'}, or Leadhand(flows=[…]) in Python.",
            )
        return found

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run, checked and complete, as JSON. Raises UsageError for unknown or wrong ones."""
        checked = self.get(name).checked_options(given)
        try:
            options = checked.model_dump(mode="json")
        except PydanticSerializationError as error:
            raise UsageError(f"the options of the flow {name} cannot be stored as JSON: {error}", OPTIONS) from error
        return json_value(options, f"the options of the flow {name}", OPTIONS)

    def roles(self, name: str, options: Mapping[str, Any]) -> Sequence[Role]:
        """The roles of a run with these options. Raises ConfigurationError if the flow fails to say them."""
        flow = self.get(name)
        try:
            return list(flow.roles(flow.checked_options(options)))
        except Exception as error:
            raise ConfigurationError(
                f"{type(flow).__name__}.roles raised {type(error).__name__}: {error}",
                f"Correct the flow {name}, and start the run again.",
            ) from error

    def offline_rules(self) -> list[Rules]:
        """What the flows tell the built-in rule-based model to answer for their roles."""
        return [flow.offline for versions in self._flows.values() for flow in versions.values() if flow.offline]


def checked_flow(flow: object) -> Flow:
    """Return a flow, made from its class if it is one. Raises UsageError for what is not a flow."""
    if inspect.isclass(flow) and issubclass(flow, Flow):
        flow = flow()
    if not isinstance(flow, Flow):
        raise UsageError(f"{flow!r} is not a flow", "Pass instances of subclasses of leadhand.flows.Flow.")
    if not flow.name:
        raise UsageError(f"the flow {type(flow).__name__} has no name", 'Give it one: name = "translate".')
    return flow


def file_of(flow: Flow) -> str:
    """The value of ``--flows`` that finds a flow again; "" if it needs none, or if no file or module defines it."""
    kind, module = type(flow), sys.modules.get(type(flow).__module__)
    if module is None or vars(module).get(kind.__name__) is not kind:
        return ""
    if module.__name__.startswith(("leadhand.", "__main__")) or module.__name__ in {
        point.module for point in entry_points(group=GROUP)
    }:
        return ""
    return module.__name__ if "." in module.__name__ else str(module.__file__)
