"""The agents of a process: classes and instances that carry out stages of reports."""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from leadhand.core.errors import UsageError
from leadhand.core.value import one_line, shown
from leadhand.tools.decorator import fingerprint

if TYPE_CHECKING:
    from leadhand.flows.report.agents import Agent, BoundAgent

HOW = "Pass subclasses of leadhand.report.Agent: agents=[…]."


def bound_agents(agents: Iterable[Agent | type[Agent]]) -> dict[str, BoundAgent]:
    """Return agents by name. Raises UsageError for what cannot carry out a stage, and for a name that is used twice."""
    if isinstance(agents, str) or not hasattr(agents, "__iter__"):
        raise UsageError(f"agents is a {type(agents).__name__}, not a list", HOW)
    found: dict[str, BoundAgent] = {}
    for agent in agents:
        bound = _bound(agent)
        if bound.name in found:
            raise UsageError(f"two agents are named {bound.name}", 'Rename one of them: name = "…".')
        found[bound.name] = bound
    return found


def _bound(agent: Agent | type[Agent]) -> BoundAgent:
    from leadhand.flows.report.agents import Agent, BoundAgent  # most processes have no agents
    from leadhand.flows.report.stages import Stage

    kind = agent if inspect.isclass(agent) else type(agent)
    if not issubclass(kind, Agent):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{shown(agent)} is not an agent", HOW)
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
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    place = kind.__module__ if "." in kind.__module__ or file is None else str(file)
    return f"{place}:{kind.__qualname__}"
