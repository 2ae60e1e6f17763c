"""The tasks of BFCL v4, multi-turn base: what a person says in each turn, the true calls, and the services.

The benchmark names a call as Python source, ``cd(folder='document')``; a work order has arguments by name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING, STATELESS_CLASSES
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import state_checker

DATA = Path(bfcl_eval.__file__).parent / "data"
CATEGORY = "BFCL_v4_multi_turn_base.json"

Services = Mapping[str, Any]
"""The simulated services of a task, by the name of their class."""


class Call(NamedTuple):
    """A true call: the name of a method, and its arguments by name."""

    tool: str
    args: dict[str, Any]


class Turn(NamedTuple):
    """What the person says, and the calls that it asks for."""

    request: str
    calls: list[Call]


class Task(NamedTuple):
    """A conversation. ``first`` is the number of its first call among the true calls of all tasks."""

    name: str
    number: int
    first: int
    classes: list[str]
    config: dict[str, Any]
    turns: list[Turn]

    def services(self) -> Services:
        """Return the services in their first state."""
        return {name: self._service(name) for name in self.classes}

    def _service(self, name: str) -> Any:
        service = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)()
        if name not in STATELESS_CLASSES:
            service._load_scenario(deepcopy(self.config.get(name, {})), long_context=False)
        return service

    @property
    def calls(self) -> list[Call]:
        """The true calls of all turns, in order."""
        return [call for turn in self.turns for call in turn.calls]


def methods(services: Services) -> dict[str, Callable[..., Any]]:
    """Return the bound methods that a model may call, by name."""
    return {
        name: method
        for service in services.values()
        for name, method in inspect.getmembers(service, inspect.ismethod)
        if not name.startswith("_")
    }


@cache
def tasks() -> list[Task]:
    """Return the 200 tasks."""
    true = {each["id"]: each["ground_truth"] for each in _lines(DATA / "possible_answer" / CATEGORY)}
    found: list[Task] = []
    first = 0
    for number, given in enumerate(_lines(DATA / CATEGORY)):
        task = Task(given["id"], number, first, given["involved_classes"], given["initial_config"], [])
        known = methods(task.services())
        for messages, calls in zip(given["question"], true[task.name], strict=True):
            request = "\n".join(message["content"] for message in messages)
            task.turns.append(Turn(request, [_call(source, known) for source in calls]))
        found.append(task)
        first += len(task.calls)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _call(source: str, known: Mapping[str, Callable[..., Any]]) -> Call:
    """Read a call, ``mv('a', destination='b')``, and name its arguments."""
    parsed: Any = ast.parse(source, mode="eval").body
    args = [ast.literal_eval(each) for each in parsed.args]
    named = {each.arg: ast.literal_eval(each.value) for each in parsed.keywords}
    return Call(parsed.func.id, inspect.signature(known[parsed.func.id]).bind(*args, **named).arguments)


def direct(task: Task) -> tuple[Services, list[Any]]:
    """Make the true calls of a task directly, and return the services in their last state, and the results."""
    services = task.services()
    known = methods(services)
    return services, [known[call.tool](**call.args) for call in task.calls]


@cache
def acting() -> frozenset[str]:
    """Return the names of the methods that change their service in any true call: what a user calls an effect.

    Drawing a random number, as a simulated thermometer does, changes nothing that anybody can see.
    """
    found: set[str] = set()
    for task in tasks():
        services = task.services()
        known = methods(services)
        for call in task.calls:
            service = known[call.tool].__self__  # type: ignore[attr-defined]
            before = deepcopy(_state(service))
            known[call.tool](**call.args)
            if _state(service) != before:
                found.add(call.tool)
    return frozenset(found)


def _state(service: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(service).items() if name != "_random"}


def difference(found: Services, expected: Services) -> str:
    """Return how services differ from those of the direct calls, by the benchmark's own comparison; "" if not."""
    compared = state_checker(dict(found), dict(expected))
    return "" if compared["valid"] else compared["error_message"]


def tokens(results: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets in what services returned: the values of fields that are named like one."""
    if isinstance(results, dict):
        for key, value in results.items():
            yield from tokens(value, str(key))
    elif isinstance(results, list):
        for value in results:
            yield from tokens(value, name)
    elif isinstance(results, str) and results and name.endswith(("token", "password", "secret")):
        yield results
