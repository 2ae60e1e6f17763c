"""Runs of flows that are functions: models that answer by rule, logs that are cut, and passes over what is left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from leads import leadhand_of

from leadhand import Answer, Leadhand, Run, Worker
from leadhand.core.events import AttemptScheduled, AttemptStarted, Entry, RunClaimed, StepIssued, StepSettled
from leadhand.core.evolve import evolve, foreseen, start
from leadhand.core.ids import step_of
from leadhand.core.state import RunState
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.passes import Pass
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports.heads import head_of
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, says
from leadhand.testing.steps import Answer as Scripted

a, b, c = Worker("a", "A."), Worker("b", "B."), Worker("c", "C.")
"""Workers whose instructions are their names."""


class Lives:
    """The lives of runs in one folder; ``answer`` answers for all workers, and ``asked`` are the calls of the model.

    Each call is the first line of the worker's instructions, without the full stop, and what it was given.
    """

    def __init__(self, home: Path, answer: Callable[[str, dict[str, Any]], Any] | None = None, **settings: Any) -> None:
        self.home, self.settings = home, settings
        self.answer = answer or (lambda worker, given: says(f"{worker} of {json.dumps(given)}"))
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[ModelRequest] = []

    def _answered(self, request: ModelRequest) -> Scripted:
        worker, given = request.messages[0].text.partition("\n")[0].rstrip("."), brief_of(request)
        self.asked.append((worker, given))
        self.requests.append(request)
        return cast("Scripted", self.answer(worker, given))

    @asynccontextmanager
    async def life(self, *flows: FunctionFlow, **settings: Any) -> AsyncGenerator[Leadhand]:
        """A process that has these flows, as far as runs can tell."""
        models = ScriptedModel().on(lambda _: True, always=self._answered)
        given: dict[str, Any] = {"budget": None, "check": "off", **self.settings, **settings}
        async with leadhand_of(flows=flows, models=models, home=self.home, **given) as lead:
            yield lead

    async def until_asked(self, count: int = 1) -> None:
        """Wait until the model was called so many times."""
        async with asyncio.timeout(30):
            while len(self.asked) < count:  # noqa: ASYNC110 (a model notes it)
                await asyncio.sleep(0.005)

    def new(self) -> list[str]:
        """The workers that were asked since this was called last."""
        asked, self.asked = [worker for worker, _ in self.asked], []
        return asked


async def log_of(lead: Leadhand, run_id: str) -> list[Entry]:
    return list(await (await lead.runtime()).store.read(run_id))


async def cut(lead: Leadhand, entries: Sequence[Entry], run_id: str) -> None:
    """Make a run of the beginning of a log, as a process leaves it that dies after its last event."""
    store, first = (await lead.runtime()).store, entries[0].event
    created = await store.create(run_id, cast("Any", first))
    if len(entries) > 1:
        events = [each.event for each in entries[1:] if not isinstance(each.event, RunClaimed)]
        await store.append(run_id, events, epoch=1, head=head_of(foreseen(start(run_id, created), events, created.at)))
    await store.release(run_id, 1)


async def finished(lead: Leadhand, flow: FunctionFlow, **options: Any) -> tuple[Run[Any], Answer[Any]]:
    """Run a flow to its end."""
    run = await lead.start("go", flow=flow.name, **options)
    return run, await run.answer()


def steps_of(entries: Iterable[Entry]) -> dict[str, int]:
    """The steps that were issued, with the number of their attempts."""
    found: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry.event, StepIssued):
            found[entry.event.step.step_id] = 0
        elif isinstance(entry.event, AttemptStarted):
            key = step_of(entry.event.attempt)
            found[key] = found.get(key, 0) + 1
    return found


def begun_again(entries: Iterable[Entry]) -> list[str]:
    """Return the steps of which an attempt began after a result of theirs was accepted."""
    done: set[str] = set()
    again: list[str] = []
    for entry in entries:
        event = entry.event
        if isinstance(event, StepSettled) and event.ok and event.final:
            done.add(event.step)
        elif isinstance(event, AttemptScheduled | AttemptStarted) and step_of(event.attempt) in done:
            again.append(step_of(event.attempt))
    return again


def pass_over(flow: FunctionFlow, state: RunState) -> tuple[Pass, FunctionRun]:
    """Return a new pass over a state; close the run after it."""
    bound = FunctionRun(flow, state.definition)
    return bound.advanced(state), bound


def wrong_prefixes(flow: FunctionFlow, entries: Sequence[Entry], run_id: str) -> list[tuple[int, list[str], list[str]]]:
    """Return, of the prefixes of a log, those after which a new pass asks for steps that the log never had, or not for
    some that were finished: their lengths, the unknown steps and the lost ones."""
    issued = {*steps_of(entries), *(each.event.subject for each in entries if each.event.type == "order_issued")}
    found: list[tuple[int, list[str], list[str]]] = []
    state = start(run_id, entries[0])
    for length, entry in enumerate(entries, 1):
        state = evolve(state, entry)
        now, bound = pass_over(flow, state)
        unknown = [key for key in now.steps if key[0] not in "?!" and key not in issued]
        lost = [key for key, step in state.steps.items() if step.closed and step.step.digest and key not in now.steps]
        if unknown or lost or now.strays:
            found.append((length, unknown, lost))
        bound.close()
    return found
