"""The plan of a lead, and the order that becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from pydantic import Field

from leadhand.core.ids import subtask_key
from leadhand.core.value import Json, Value
from leadhand.core.work_order import (
    ProposedSubtask,
    Subtask,
    Unsupported,
    WorkOrder,
    reference_to,
    references,
    result_reference,
)
from leadhand.core.worker import Worker


class Plan(Value):
    """A lead's answer when asked to plan. It becomes an order once it is valid.

    Instead of subtasks, it can be the ``answer`` to a request that needs no tool, or a ``question`` to the person.
    """

    goal: str = Field(default="", description="the request in one line")
    subtasks: tuple[ProposedSubtask, ...] = ()
    cannot: tuple[Unsupported, ...] = Field(default=(), description="parts of the request that no tool covers")
    more: bool = Field(default=False, description="the request needs more subtasks, which follow on the next page")
    answer: str = Field(default="", description="the answer itself, if the request needs no tool")
    question: str = Field(default="", description="what has to be known before the request can be planned")


def issue(
    plan: Sequence[ProposedSubtask],
    order: str,
    goal: str,
    repairs: str | None = None,
    *,
    workers: Sequence[Worker] = (),
    instead_of: Sequence[str | None] = (),
    keys: tuple[str, ...] = (),
) -> WorkOrder:
    """Return ``plan`` as the order with the id ``order``; indexes in ``needs`` and ``$result`` become keys.

    A subtask that names one of the ``workers`` has the output schema of that worker, unless it expects something else.
    ``instead_of`` has the subtasks that are repaired, ``keys`` other keys than those by number.
    """
    outputs = {worker.name: worker.output for worker in workers}

    def key(reference: int | str) -> str:
        text = str(reference).removeprefix(f"{order}.")
        if not (text.isascii() and text.isdigit()):
            return str(reference)
        return keys[int(text)] if int(text) < len(keys) else subtask_key(order, int(text))

    return WorkOrder(
        work_order_id=order,
        goal=goal,
        repairs=repairs,
        keys=keys,
        subtasks=tuple(
            Subtask.model_validate(
                {
                    **dict(proposed),
                    "args": _keyed(proposed.args, key),
                    "needs": tuple(dict.fromkeys(map(key, (*proposed.needs, *references(proposed.args))))),
                    "expected_output": proposed.expected_output or outputs.get(proposed.worker or ""),
                    "repairs_subtask": repaired,
                }
            )
            for proposed, repaired in zip_longest(plan, instead_of)
        ),
    )


def _keyed(args: dict[str, Json], key: Callable[[str], str]) -> dict[str, Json]:
    found = {name: result_reference(value) for name, value in args.items()}
    keyed = {name: reference_to(key(of[0]), of[1]) for name, of in found.items() if of is not None}
    return {**args, **keyed} if keyed else args
