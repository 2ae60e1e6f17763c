"""Check orders before they are issued: their tools, workers, arguments and needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from leadhand.core.text import did_you_mean
from leadhand.core.tool import ToolSpec
from leadhand.core.work_order import Subtask, WorkOrder, tie_problems
from leadhand.core.worker import ALL_TOOLS, Worker


def order_problems(
    order: WorkOrder, tools: Mapping[str, ToolSpec], known: Collection[str] = (), workers: Sequence[Worker] = ()
) -> list[str]:
    """Return the problems of an order that cannot be carried out, one sentence each; empty if it can be issued.

    ``known`` are the keys of subtasks of earlier orders, ``workers`` those of the project. This function finds unknown
    tools and workers, missing arguments, unknown needs and cycles. Arguments are validated against the schema
    elsewhere, as that requires a JSON schema library.
    """
    found: list[str] = []
    for key, subtask in zip(order.subtask_keys(), order.subtasks, strict=True):
        if subtask.tool is not None and subtask.tool not in tools:
            names = ", ".join(sorted(tools)) or "none"
            found.append(
                f"{key} ({subtask.name}) names the tool {subtask.tool!r}, which does not exist; there are: {names}"
            )
        elif subtask.tool is not None and tools[subtask.tool].parallel:
            found.append(f"{key} ({subtask.name}) names {subtask.tool}, which lists calls: a subtask names one call")
        elif subtask.tool is not None and not subtask.needs:
            missing = tools[subtask.tool].required - set(subtask.args)
            if missing:
                found.append(
                    f"{key} ({subtask.name}) lacks {', '.join(sorted(missing))}, and nothing that it needs supplies it"
                )
        if subtask.worker is not None:
            found += _worker_problems(f"{key} ({subtask.name})", subtask, workers)
    return found + tie_problems(order, known)


def _worker_problems(where: str, subtask: Subtask, workers: Sequence[Worker]) -> Iterator[str]:
    name, names = subtask.worker or "", [each.name for each in workers]
    worker = next((each for each in workers if each.name == name), None)
    if worker is None:
        known = f"there are: {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        yield f"{where} names the worker {name!r}, which does not exist; {known}"
    elif subtask.tool is not None and subtask.tool not in worker.tools and ALL_TOOLS not in worker.tools:
        yield f"{where} names the tool {subtask.tool}, which the worker {name} may not use"
