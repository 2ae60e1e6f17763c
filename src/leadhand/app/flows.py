"""The flows that this process can run: those that ship, those of the program, and those of installed packages."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from leadhand.app.toolsets import importable
from leadhand.domain.errors import ConfigurationError, UsageError
from leadhand.domain.run import Role
from leadhand.flows.flow import Flow
from leadhand.flows.offline.rule import Rules
from leadhand.flows.work_order.flow import WorkOrderFlow

GROUP = "leadhand.flows"
"""The entry points by which installed packages offer flows."""
DEFAULT = "work-order"


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

    def get(self, name: str, version: int | None = None) -> Flow:
        """The flow of this name; the highest version, or the one named.

        Raises UsageError for a name that is not known, ConfigurationError for a version that is not here.
        """
        if name not in self._flows:
            self._load_installed()
        versions = self._flows.get(name)
        if versions is None and version is not None:
            raise ConfigurationError(
                f"the run uses the flow {name}, which is not here",
                "Continue it where that flow is: with --flows FILE, or with Leadhand(flows=[…]).",
            )
        if versions is None:
            near = get_close_matches(name, self._flows, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"there is no flow {name!r}", f"There are: {', '.join(self.names())}.{hint}")
        if version is None:
            return versions[max(versions)]
        if version not in versions:
            raise ConfigurationError(
                f"the run uses {name} version {version}, which is not here",
                "Resume it with the program, or the release of Leadhand, that started it.",
            )
        return versions[version]

    def options(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run, checked and complete, as JSON. Raises UsageError for unknown or wrong ones."""
        return self.get(name).checked_options(given).model_dump(mode="json")

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


def load_flows(where: str) -> list[Flow]:
    """Return the flows that a Python file, or an importable module, defines.

    Raises UsageError for one that cannot be loaded, or that defines no flow.
    """
    module = _module(where)
    found = [
        each
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Flow) and each.__module__ == module.__name__ and each.name
    ]
    if not found:
        raise UsageError(f"{where} defines no flow", "Write a subclass of leadhand.flows.Flow in it, with a name.")
    return [checked_flow(each) for each in found]


def _module(where: str) -> ModuleType:
    """Import a file or a module, which may import its neighbours. Raises UsageError if that fails."""
    path = Path(where)
    file = path.suffix == ".py"
    if file and not path.is_file():
        raise UsageError(f"there is no file {where}", "Name a Python file that defines flows.")
    importable(path.resolve().parent if file else Path.cwd())
    name = f"leadhand_flows_{path.stem}" if file else where
    try:
        if not file:
            return importlib.import_module(where)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # pydantic looks there for the types that a flow's options name
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise UsageError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}", "Correct the file, or name another."
        ) from error
    return module
