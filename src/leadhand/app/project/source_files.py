"""The tools, flows, agents, hooks and offline rules of the Python files and modules that flags and manifests name."""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from leadhand.app.project.toolsets import installed_tools, shipped_tools
from leadhand.core.errors import ConfigurationError, LeadhandError, UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import one_line, shown
from leadhand.flows.offline.rule import OfflineRule
from leadhand.flows.seam.function import FunctionFlow, Worker
from leadhand.ports.hooks import Hook
from leadhand.tools.decorator import definition, fingerprint, tool
from leadhand.tools.source import ToolSource
from leadhand.tools.tool import Tool

if TYPE_CHECKING:
    from leadhand.flows.report.agents import Agent, BoundAgent

_T = TypeVar("_T")
HOW = "Name a file that ends in .py, or a module."
_being_read: list[str] = []
"""The files and modules that are being imported for their tools, flows, agents or hooks."""


INSTALLED = "installed:"
"""Before the name of a tool that an installed package offers."""


def all_tools(named: Iterable[str]) -> list[Any]:
    """Return the built-in tools, and those that are named: of a file or module, of ``FILE:NAME``, and of an installed
    package (``installed:NAME``).

    A file has the tools and sources of tools that it defines; without any, its public functions. Raises UsageError for
    a name without a file, module or tool, ConfigurationError for code that cannot be imported.
    """
    how = "Write a function in it: its signature and docstring describe the tool."
    own: list[Any] = []
    for name in named:
        offered = name.removeprefix(INSTALLED)
        own += installed_tools(offered) if offered != name else _all([name], "defines no tools", how, _offered)
    return list(dict.fromkeys([*shipped_tools(), *own]))


def all_flows(named: Iterable[str]) -> list[FunctionFlow]:
    """Return the flows of every file or module named. Raises as :func:`all_tools` does."""
    how = "Write @flow (from leadhand.flows import flow) above an async function in it."
    return _all(named, "defines no flow", how, lambda module, _: _own(module, _instances(module, FunctionFlow)))


def all_agents(named: Iterable[str]) -> list[type[Agent]]:
    """Return the agents of every file or module named, of ``FILE:Class`` this one. Raises as :func:`all_tools` does."""
    if not (named := list(named)):
        return []
    from leadhand.flows.report.agents import Agent  # most commands are given none

    how = "Write a subclass of leadhand.report.Agent in it."
    return _all(named, "defines no agent", how, lambda module, _: _classes(module, Agent))


def all_hooks(named: Iterable[str]) -> list[Hook | type[Hook]]:
    """Return the hooks of every file or module named, of ``FILE:NAME`` this one. Raises as :func:`all_tools` does.

    A class that has instances in its file is not a hook beside them, nor is a base class beside those derived from it.
    """

    def hooks(module: ModuleType, wanted: str) -> dict[str, Hook | type[Hook]]:
        made, classes = _instances(module, Hook), _classes(module, Hook)
        used = {type(each) for each in made.values()} | {base for each in classes.values() for base in each.__bases__}
        return made | {name: each for name, each in classes.items() if each not in used or name == wanted}

    how = "Write a subclass of leadhand.hooks.Hook in it, or a function with a decorator of leadhand.hooks."
    return _all(named, "defines no hook", how, hooks)


def _all(
    named: Iterable[str], lacking: str, how: str, parts: Callable[[ModuleType, str], Mapping[str, _T]]
) -> list[_T]:
    """Return the parts of every file or module named, of ``FILE:NAME`` this one. Raises UsageError without any."""
    every: list[_T] = []
    for name in named:
        place, colon, wanted = name.rpartition(":")
        found = parts(_imported(place if colon else name), wanted if colon else "")
        if not found:
            raise UsageError(f"{name} {lacking}", how)
        if colon and wanted not in found:
            known = f"It defines: {', '.join(found)}.{did_you_mean(wanted, found)}"
            raise UsageError(f"{place} {lacking} {wanted}", known)
        every += [found[wanted]] if colon else found.values()
    return list(dict.fromkeys(every))


def _tools(module: ModuleType) -> dict[str, Tool[..., Any]]:
    return _instances(module, cast("type[Tool[..., Any]]", Tool))


def _offered(module: ModuleType, wanted: str) -> dict[str, Any]:
    """Return the tools of a module, and what is ``wanted`` of it: any function, or method of an object."""
    found: dict[str, Any] = {**_tools(module), **_instances(module, ToolSource)}
    functions = _own(module, _instances(module, FunctionType))
    found = found or {name: _made(each, name) for name, each in functions.items() if name[0] != "_"}
    with contextlib.suppress(AttributeError):
        if wanted and callable(one := attrgetter(wanted)(module)):
            found[wanted] = _made(one, wanted.rpartition(".")[2])
    return found


@cache
def _made(function: Callable[..., Any], name: str) -> Tool[..., Any]:
    """Return the tool of a function, the same for each call."""
    if isinstance(function, Tool):
        return cast("Tool[..., Any]", function)
    made = tool(name=name)(function)
    made.source = _file_of(definition(function).__module__)
    return made


def _instances(module: ModuleType, kind: type[_T]) -> dict[str, _T]:
    return {name: each for name, each in vars(module).items() if isinstance(each, kind) and not inspect.isclass(each)}


def _classes(module: ModuleType, kind: type[_T]) -> dict[str, type[_T]]:
    found = vars(module).values()
    own = {each.__name__: each for each in found if isinstance(each, type) and issubclass(each, kind)}
    return _own(module, own)


def _own(module: ModuleType, parts: Mapping[str, _T]) -> dict[str, _T]:
    return {name: each for name, each in parts.items() if each.__module__ == module.__name__}


def all_rules(named: Iterable[str]) -> dict[str, OfflineRule]:
    """Return the rules for the built-in model of every file or module named, by worker. Raises as :func:`all_tools`."""
    rules: dict[str, OfflineRule] = {}
    for name in named:
        found: Any = vars(_imported(name)).get("OFFLINE")
        if not isinstance(found, dict) or not all(map(callable, cast("dict[str, Any]", found).values())):
            how = "Define OFFLINE in it, a dict of functions by the name of a worker."
            raise UsageError(f"{name} defines no rules for the built-in model", how)
        rules |= cast("dict[str, OfflineRule]", found)
    return rules


def _imported(name: str) -> ModuleType:
    return _module_of_file(name) if is_file(name) else _module(name)


def is_file(name: str) -> bool:
    """Whether a value of ``--tools``, ``--flows``, ``--agent`` or ``--hooks`` names a file, not a module."""
    return name.endswith(".py") or os.sep in name


def _module_of_file(name: str) -> ModuleType:
    path = Path(name).expanduser().resolve()
    if path.is_dir():
        raise UsageError(f"{name} is a directory", HOW)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"no Python file {name}", HOW)
    known = sys.modules.get(path.stem)
    if known is not None:
        if getattr(known, "__file__", None) == str(path):
            return known
        raise UsageError(f"{name} has the same name as a module that is in use: {path.stem}", "Rename the file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type hints of its functions are resolved there
    try:
        with _importing(name, path.parent):
            spec.loader.exec_module(module)
        for found in _tools(module).values():
            found.source = str(path)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):  # such as . or .. or my-tools
        raise UsageError(f"{name!r} is neither a Python file nor a module", HOW)
    with _importing(name, Path.cwd()):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module exists; something it imports does not
            raise UsageError(f"no module {name}", "Name a Python file (tools.py) or a module.") from error


@contextlib.contextmanager
def _importing(name: str, directory: Path) -> Generator[None]:
    """Import from this directory inside the block. Raises ConfigurationError if that fails."""
    if str(directory) not in sys.path:
        sys.path.append(str(directory))  # at the end: a json.py there must not shadow Python's own
    _being_read.append(name)
    try:
        yield
    except (LeadhandError, KeyboardInterrupt):
        raise
    except BaseException as error:  # user code may raise anything, SystemExit included
        words = str(error).strip().splitlines()
        raise ConfigurationError(
            f"{name} cannot be imported: {type(error).__name__}{f': {words[0]}' if words else ''}",
            "Fix the error; --debug shows the traceback.",
        ) from error
    finally:
        _being_read.remove(name)


def check_not_being_read() -> None:
    """Raise UsageError if a file is being imported for its tools: what it does then would be done a second time."""
    if _being_read:
        how = 'Put what starts runs under: if __name__ == "__main__":'
        raise UsageError(f"{_being_read[-1]} starts a run while it is read for its tools", how)


WORKERS = "Pass a list of Worker(…), and of subclasses of leadhand.report.Agent: workers=[…]."


def workers_and_agents(given: Iterable[Any]) -> tuple[list[Worker], dict[str, BoundAgent]]:
    """Return the workers that every run has, and the stages of reports, by name.

    Raises UsageError for what is neither, for what cannot carry out a stage, and for a stage that is named twice.
    """
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise UsageError(f"workers is a {type(given).__name__}, not a list", WORKERS)
    workers: list[Worker] = []
    found: dict[str, BoundAgent] = {}
    for each in given:
        if isinstance(each, Worker):
            workers.append(each)
            continue
        bound = _bound(each)
        if bound.name in found:
            raise UsageError(f"two agents are named {bound.name}", 'Rename one of them: name = "…".')
        found[bound.name] = bound
    return workers, found


def stages(settings: Mapping[str, Mapping[str, Any]], agents: Iterable[str]) -> list[dict[str, Any]]:
    """Return the stages of a report: every agent, and the settings of stages, by their names."""
    return [{"name": name, **settings.get(name, {})} for name in dict.fromkeys([*agents, *settings])]


def _bound(agent: Agent | type[Agent]) -> BoundAgent:
    from leadhand.flows.report.agents import Agent, BoundAgent  # most processes have no agents
    from leadhand.flows.report.stages import Stage

    kind = agent if inspect.isclass(agent) else type(agent)
    if not issubclass(kind, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{shown(agent)} is neither a worker nor a stage of reports", WORKERS)
    where = f"{kind.__qualname__} ({_source(kind)})"
    if kind.run is Agent.run or not inspect.iscoroutinefunction(kind.run):
        how = "Define it: async def run(self, task: Task) -> AgentResult."
        raise UsageError(f"{where} has no async method run", how)
    name = kind.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", kind.__name__).strip("-").lower()
    bound = BoundAgent(name=name, agent=agent, source=_source(kind), fingerprint=fingerprint(kind))
    try:
        Stage.model_validate(bound.placed({"name": name}))
        _ = copy.deepcopy(agent) if isinstance(agent, Agent) else inspect.signature(agent).bind()
    except Exception as error:
        how = (
            "Correct the class. Each attempt makes an instance without arguments, or copies the instance that you pass."
        )
        raise UsageError(f"the agent {where} cannot be used: {one_line(error)}", how) from error
    return bound


def _source(kind: type[Any]) -> str:
    """The value of ``--agent`` that finds a class again."""
    return f"{_file_of(kind.__module__) or kind.__module__}:{kind.__qualname__}"


def _file_of(module: str) -> str | None:
    """Return the file of a module that is in no package, by which any process can find it; None for another one."""
    return None if "." in module else getattr(sys.modules.get(module), "__file__", None)
