"""The flow ``map``: one worker for many inputs, each of which is a step of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from leadhand.core.outcome import FlowAnswer
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, is_object

from .seam.context import FlowContext
from .seam.function import FunctionFlow, Worker
from .seam.pending import Details, Pending
from .seam.results import Result, sha

MAP = "map"
"""The name of the flow."""


def map_flow(workers: Mapping[str, Worker]) -> FunctionFlow:
    """Return the flow; ``workers`` are those of the program, by name and by fingerprint."""
    return FunctionFlow(_map, MAP, workers=(), own=workers, plans=False)


async def _map(run: FlowContext, worker: str, inputs: list[Any]) -> FlowAnswer:
    """Have one worker carry out many inputs, side by side; the results have the order of the inputs."""
    of_run, steps = run.worker(worker), list[Pending[Result]]()
    for number, each in enumerate(inputs, start=1):
        title = Details(title=f"{worker} {number}")
        steps.append(run.step(of_run, key=worker, input=fields_of(each), details=title))
    results: list[Result] = await run.gather(steps, return_failures=True)
    done = sum(each.ok for each in results)
    value = [None if not each.ok else each.text if each.state.value is None else each.state.value for each in results]
    text = f"{done:,} of {len(results):,} inputs have a result." if done else ""  # without any, the run has failed
    return FlowAnswer(text, value=value)


def fields_of(given: Json) -> dict[str, Json]:
    """Return what the worker is given for an input: its fields, or a single one for text and the like."""
    return given if is_object(given) and given else {"input": given}


def line_of(result: Result) -> dict[str, Json]:
    """Return a result as one line of JSON."""
    if not result.ok:
        fields = {"message", "type", "class_"}
        return {"ok": False, "error": result.failure and result.failure.model_dump(mode="json", include=fields)}
    value = result.state.value
    return {"ok": True, "text": result.text} | ({} if value is None else {"value": value})


def steps_of(state: RunState) -> Iterator[StepState | None]:
    """Yield the step of each input of a run, in their order; None for one that has not been issued."""
    known = {(each.step.digest, each.step.place): each for each in state.steps.values()}
    equal = Counter[str]()
    for each in state.definition.options["inputs"]:
        digest = sha(fields_of(each))
        equal[digest] += 1
        yield known.get((digest, f"#{equal[digest]}"))
