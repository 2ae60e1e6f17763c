"""Work orders as flows ask for them: known again by their content, checked before they are issued, and carried out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from leadhand.core.ids import order_id, subtask_key
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState, StepState
from leadhand.core.text import did_you_mean, listed
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json, compact_json, is_object
from leadhand.core.work_order import WORKER, Subtask, WorkOrder, references, renamed, resolved, tie_problems
from leadhand.core.worker import ALL_TOOLS, Worker
from leadhand.flows.facts import CONTEXT, asked, today
from leadhand.flows.flow import instructions_in, result_facts
from leadhand.flows.seam.results import encoded, is_same

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
    plan: Sequence[Subtask],
    order: str,
    goal: str,
    repairs: str | None = None,
    *,
    workers: Sequence[Worker] = (),
    keys: tuple[str, ...] = (),
) -> WorkOrder:
    """Return ``plan`` as the order with the id ``order``; indexes and unique names in ``needs`` and ``$result`` become
    keys.

    A subtask that names one of the ``workers`` has the output schema of that worker, unless it expects something else.
    To those that are repaired, the others no longer refer. ``keys`` are other keys than those by number.
    """
    outputs = {worker.name: worker.output for worker in workers}
    named, repaired = [each.name for each in plan], [each.repairs_subtask for each in plan]
    moved = {of: keys[n] if n < len(keys) else subtask_key(order, n) for n, of in enumerate(repaired)}

    def key(reference: str) -> str:
        text = reference.removeprefix(f"{order}.")
        if not (text.isascii() and text.isdigit()):
            if named.count(text) != 1:
                return moved.get(reference, reference)
            text = str(named.index(text))
        return keys[int(text)] if int(text) < len(keys) else subtask_key(order, int(text))

    def issued(subtask: Subtask) -> Subtask:
        changed: dict[str, Any] = {}
        if needs := (*subtask.needs, *references(subtask.args)):
            changed = {"args": renamed(subtask.args, key), "needs": tuple(dict.fromkeys(map(key, needs)))}
        expected = subtask.expected_output or outputs.get(subtask.worker or "")
        if expected != subtask.expected_output:
            changed["expected_output"] = expected
        return subtask.evolve(**changed) if changed else subtask

    return WorkOrder(
        work_order_id=order,
        goal=goal,
        repairs=repairs,
        keys=keys,
        subtasks=tuple(map(issued, plan)),
    )


def asked_order(
    state: RunState,
    goal: str,
    subtasks: Sequence[Mapping[str, Any] | Subtask],
    repairs: str | None,
    asked: Mapping[str, WorkOrder],
) -> WorkOrder:
    """Return the order of the log that an ask means, or a new one.

    ``asked`` are the orders that the pass has asked for. Raises ValueError for an order that cannot be carried out.
    """
    proposed = [
        each if isinstance(each, Subtask) else Subtask.model_validate(encoded({"subtasks": each})[0]["subtasks"])
        for each in subtasks
    ]

    def issued(key: str, keys: tuple[str, ...] = ()) -> WorkOrder:
        workers = state.definition.declared
        return issue(proposed, key, goal, repairs, workers=workers, keys=keys)

    for key in [key for key in state.orders if key not in asked]:
        known = state.orders[key].order
        if is_same(known.model_dump(mode="json"), issued(key, known.keys).model_dump(mode="json")):
            return known
    number = len({*state.orders, *asked}) + 1
    earlier = {key for each in asked.values() for key in each.subtask_keys}
    problems = order_problems(state.definition, proposed, earlier, number)
    if len(asked) >= (most := state.definition.limits.max_steps):
        problems.append(f"the run is limited to {most} orders")
    if problems:
        raise ValueError("; ".join(problems))
    order = issued(order_id(number))
    keys = _claimed(state, order) if number == 1 else ()
    return issued(order.work_order_id, keys) if keys else order


def _claimed(state: RunState, order: WorkOrder) -> tuple[str, ...]:
    """Return the keys of an order's subtasks if some have begun under other keys than their own; () if none have."""
    begun = {key: each.subtask for key, each in state.steps.items() if each.is_early}
    named: dict[str, list[str]] = {}
    for key, each in begun.items():
        named.setdefault(each.name, []).append(key)
    fresh = (subtask_key(order.work_order_id, n) for n in count(len(order.subtasks)))
    free = (key for key in fresh if key not in begun)
    keys: dict[str, None] = {}  # in order
    for own, subtask in zip(order.subtask_keys, order.subtasks, strict=True):
        alike = (key for key in (own, *named.get(subtask.name, ())) if key not in keys and begun.get(key) == subtask)
        keys[next(alike, None) or (next(free) if own in begun else own)] = None
    return () if [*keys] == [*order.subtask_keys] else tuple(keys)


# --- checks ----------------------------------------------------------------------------------------------------------


def order_problems(
    definition: RunDefinition,
    proposed: Sequence[Subtask],
    known: Collection[str] = (),
    number: int = 1,
) -> list[str]:
    """Return why subtasks cannot be the order with this ``number``, one sentence each: unknown tools and workers,
    missing arguments, unknown needs and cycles. ``known`` are the keys of subtasks of earlier orders.

    Arguments are validated against the schema elsewhere. The model that reads the problems knows its subtasks by their
    indexes: the order has no id yet.
    """
    order, tools = issue(proposed, order_id(number), "-"), {each.name: each for each in definition.tools}
    workers = {each.name: each for each in definition.declared}
    found = [
        f"{key} ({subtask.name}) {problem}"
        for key, subtask in zip(order.subtask_keys, order.subtasks, strict=True)
        for problem in _subtask_problems(tools, workers, subtask)
    ]
    key_in_text = re.compile(rf"'?\b{re.escape(order.work_order_id)}\.(\d+)'?")
    return [key_in_text.sub(r"subtask \1", problem) for problem in (*found, *tie_problems(order, known))]


def _subtask_problems(tools: Mapping[str, ToolSpec], workers: Mapping[str, Worker], subtask: Subtask) -> Iterator[str]:
    tool = tools.get(subtask.tool or "")
    if subtask.tool is not None and tool is None:
        yield f"names the tool {subtask.tool!r}, which does not exist; there are: {', '.join(sorted(tools)) or 'none'}"
    elif tool is not None and tool.parallel:
        yield f"names {subtask.tool}, which lists calls: a subtask names one call"
    elif tool is not None and not subtask.needs and (missing := tool.required - set(subtask.args)):
        yield f"lacks {', '.join(sorted(missing))}, and nothing that it needs supplies it"
    if subtask.worker is None:
        return
    worker = workers.get(subtask.worker)
    if worker is None:
        known = f"there are: {', '.join(workers) or 'none'}.{did_you_mean(subtask.worker, workers)}"
        yield f"names the worker {subtask.worker!r}, which does not exist; {known}"
    elif subtask.tool is not None and subtask.tool not in worker.tools and ALL_TOOLS not in worker.tools:
        yield f"names the tool {subtask.tool}, which the worker {subtask.worker} may not use"


# --- briefs ----------------------------------------------------------------------------------------------------------


def _task(state: RunState, name: str, tool: str | None, args: Any, expected: Json) -> dict[str, Any]:
    subtask = {"tool": tool, "args": args, "name": name, "expected_output": expected}
    given = {key: value for key, value in subtask.items() if value}
    facts = {**asked(state, CONTEXT), "subtask": given}
    if is_object(expected):
        facts["answer"] = "JSON that matches the schema expected_output, and nothing else; or call give_up"
    return facts


def work(state: RunState, step: StepState) -> dict[str, Any]:
    """Return the brief of one subtask: the subtask and the results that it needs."""
    given = step.subtask
    stated = resolved(given.args, {key: data for key in given.needs if (data := state.steps[key].data) is not None})
    facts = _task(state, given.name, given.tool, stated, given.expected_output)
    if left := [name for name in given.args if name not in stated]:
        facts["work_out"] = {name: _how_to_work_out(given.args[name]) for name in left}
    if given.needs or not given.args:  # else the lead has worked out the days that the arguments name
        facts |= today(state)
    if given.needs:
        facts["needs"] = {key: result_facts(state.steps[key]) for key in given.needs}
    repaired = state.steps.get(given.repairs_subtask or "")
    if repaired is not None:
        reason = repaired.verdict.reason if repaired.verdict is not None else ""
        reason = reason or (repaired.failure and repaired.failure.message)
        facts["repairs"] = {"subtask": repaired.key, "why_it_is_done_again": reason}
    return facts


def _how_to_work_out(ordered: Json) -> str:
    """Return how a worker finds an argument with references, of which the order may say a part."""
    by = f"by the result of {listed([*dict.fromkeys(references(ordered))])} in needs"
    if is_object(ordered) and "$result" in ordered:
        return f"choose it {by}"
    return f"take {compact_json(ordered)}, and in place of each $result choose a value {by}"


def child(state: RunState, step: StepState) -> dict[str, Any]:
    """Return the brief of a child step: its input is the task, and the calling tool defines what to return."""
    given = step.step
    tool = state.tools.get(given.title)
    facts = _task(state, given.name, None, given.input, tool.description if tool is not None else None)
    return {**facts, **today(state)}
