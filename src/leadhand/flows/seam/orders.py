"""Work orders as flows issue them, and the worker of subtasks that name none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from leadhand.core.evolve.steps import WORKER
from leadhand.core.ids import subtask_key
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, is_object
from leadhand.core.work_order import ProposedSubtask, Subtask, WorkOrder, reference_to, references, result_reference
from leadhand.core.worker import ALL_TOOLS, Worker
from leadhand.flows.facts import CONTEXT, asked, today
from leadhand.flows.flow import instructions_in, result_facts

WORK = Worker(
    name=WORKER,
    instructions=instructions_in("leadhand.flows.seam", "work"),
    model_role=WORKER,
    tools=(ALL_TOOLS,),
    loop="turns",
    counts=True,
)
"""Carries out the subtasks that name no worker."""


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


# --- briefs ----------------------------------------------------------------------------------------------------------


def _task(state: RunState, name: str, tool: str | None, args: Any, expected: Json) -> dict[str, Any]:
    subtask = {"tool": tool, "args": args, "name": name, "expected_output": expected}
    given = {key: value for key, value in subtask.items() if value}
    facts = {**asked(state, CONTEXT), **today(state), "subtask": given}
    if is_object(expected):
        facts["answer"] = "JSON that matches the schema expected_output, and nothing else; or call give_up"
    return facts


def work(state: RunState, step: StepState) -> dict[str, Any]:
    """Return the brief of one subtask: the subtask and the results that it needs."""
    given = step.subtask
    references = {name: found for name, value in given.args.items() if (found := result_reference(value)) is not None}
    whole = {name: subtask for name, (subtask, path) in references.items() if path is None}
    stated = {name: value for name, value in given.args.items() if name not in whole}
    facts = _task(state, given.name, given.tool, stated, given.expected_output)
    if whole:
        facts["work_out"] = {name: f"from the result of {subtask}, in needs" for name, subtask in whole.items()}
    if given.needs:
        facts["needs"] = {key: result_facts(state.steps[key]) for key in given.needs}
    repaired = state.steps.get(given.repairs_subtask or "")
    if repaired is not None:
        reason = repaired.verdict.reason if repaired.verdict is not None else ""
        reason = reason or (repaired.failure and repaired.failure.message)
        facts["repairs"] = {"subtask": repaired.key, "reason": reason}
    return facts


def child(state: RunState, step: StepState) -> dict[str, Any]:
    """Return the brief of a child step: its input is the task, and the calling tool defines what to return."""
    given = step.step
    tool = state.tools.get(given.title)
    return _task(state, given.name, None, given.input, tool.description if tool is not None else None)
