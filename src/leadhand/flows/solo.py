"""The flow ``solo``: one worker carries out the request with its tools, turn by turn. The plain agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.conversation import ToolMessage
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import GIVE_UP
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.core.work_order import references
from leadhand.core.worker import Worker as Recorded

from .facts import earlier_facts, today
from .offline.rule import Call, OfflineRequest, Reply
from .seam.context import FlowContext
from .seam.function import FunctionFlow, Worker
from .seam.pending import Details
from .seam.results import Result
from .work_order.offline import compose, plan

SOLO = "solo"
"""The name of the flow, and of its worker if a run names none."""
WORK = "work"
"""The id of the step that answers."""
ALONE = Worker(
    SOLO,
    "Carry out `request`; `today` is the date, and `earlier` and `conversation` are what was said before. Use the tools"
    " for what you have to find out or to do, several at once where possible, and answer when you have what you need."
    " Rest on what the tools returned, and say what you could not find out.",
)


def solo_flow(workers: Mapping[str, Worker]) -> FunctionFlow:
    """Return the flow; ``workers`` are those of the program, by name and by fingerprint."""
    return FunctionFlow(_solo, SOLO, {ALONE: _offline}, workers=_workers, own=workers, plans=False)


async def _solo(run: FlowContext, worker: str = "") -> Result:
    """Have one worker carry out the request with its tools, turn by turn; without a name, one that has every tool."""
    of_run = run.worker(worker or SOLO)
    details = Details(title=of_run.name, shows=_shown)
    return await run.step(of_run, key=WORK, input={"request": run.request}, details=details, final=True)


def _workers(options: Any) -> Sequence[Recorded]:
    # The run records those of the project and the program. Only they have a fingerprint: no judge reads Leadhand's own.
    return () if options.worker else (ALONE.recorded().evolve(fingerprint=""),)


def _shown(state: RunState, _step: StepState) -> dict[str, Any]:
    """Return what the worker is given: the request, the day, and the run that this one follows up."""
    return {"request": state.definition.request, **today(state), **earlier_facts(state)}


def _offline(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Call what the built-in model would plan, one call after the other, and answer with what the tools returned."""
    tools = [each.model_dump() for each in request.tools if each.name != GIVE_UP]
    planned = object_of(plan({**facts, "tools": tools}, request))
    returned = [json.loads(each.content) for each in request.messages if isinstance(each, ToolMessage)]
    for each in objects_of(planned.get("subtasks"))[len(returned) :]:
        args = object_of(each.get("args"))
        return Call(text_of(each.get("tool")), {key: arg for key, arg in args.items() if not references(arg)})
    if returned:
        return compose({**facts, "results": returned}, request)
    return request.give_up("; ".join(text_of(each.get("reason")) for each in objects_of(planned.get("cannot"))))
