"""A model server that is away is waited for: one call probes, nothing is used up, and the patience has an end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.fakes import FakeModels, FixedClock, down
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.errors import FailureClass
from leadhand.core.events import NoteEmitted
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import RunStatus
from leadhand.engine.calls.model_calls import MOST_INTERRUPTED
from leadhand.ports import ModelError
from leadhand.ports.models import ModelReply, ModelRequest
from leadhand.testing.steps import worker_of

REFUSED = down("no connection: refused", "transient", "connection")
SUBTASKS = 20


class AbsentModels(FakeModels):
    """Models whose server is away for workers from the first ``begins`` calls on, until ``back_at`` in seconds."""

    def __init__(self, clock: FixedClock, begins: int, back_at: float, failure: ModelError = REFUSED, **how: Any):
        super().__init__(plan(*(ask(f"s{n}", "measure", n=n) for n in range(SUBTASKS))), work="measured", **how)
        self._clock, self._began, self._left = clock, clock.now(), begins
        self._back_at, self._failure = back_at, failure
        self.probes: list[float] = []

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if worker_of(request) != "plan":
            self._left -= 1
            now = (self._clock.now() - self._began).total_seconds()
            if self._left < 0 and now < self._back_at:
                self.probes.append(now)
                raise self._failure
        return await super().ask(request, on_text)


def open_absent(open_world: Any, *how: Any, patience_s: float = 300.0) -> tuple[Any, AbsentModels]:
    clock = FixedClock()
    models = AbsentModels(clock, *how)
    return open_world(models, [Bench().measure], clock=clock, limits=Limits(model_patience_s=patience_s)), models


@pytest.mark.parametrize("type_", ["connection", "http_502", "http_503", "http_529", "overloaded"])
async def test_a_server_that_is_away_is_waited_for_and_no_attempt_is_used_up(open_world: Any, type_: str):
    world, models = open_absent(open_world, 0, 100.0, down("gone", "transient", type_))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert {each.attempts for each in state.steps.values()} == {1}
    together = models.probes.count(0)
    assert models.probes[together:] == [1, 3, 7, 15, 31, 61, 91], "one at a time, after 1, 2, 4 … 30 s"
    away, back = (note.message for note in await world.events(NoteEmitted))
    assert all(each in away for each in ("fake", "300 s", "gone", "check that the server runs"))
    assert back.startswith("no longer waiting for fake")


async def test_a_server_that_does_not_come_back_is_one_failure_with_its_cause_and_next_step(open_world: Any):
    world, models = open_absent(open_world, 0, 10_000.0, patience_s=10.0)
    state = await world.run()

    failed = [each.failure for each in state.steps.values() if not each.ok]
    assert {each.attempts for each in state.steps.values()} == {1}
    assert {each.class_ for each in failed} == {FailureClass.TRANSIENT}
    assert all(each in failed[0].message for each in ("fake", "10 s", "refused"))
    assert len({each.message for each in failed}) == 1
    assert failed[0].next_action.endswith("retry the run")
    assert models.probes[models.probes.count(0) :] == [1, 3, 7, 10], "and nobody asks once the patience has ended"


async def test_a_call_that_crashes_its_server_is_not_made_for_ever(open_world: Any):
    world, models = open_absent(open_world, 0, 10_000.0, ModelError(REFUSED.failure, usage=None))
    state = await world.run()

    assert state.status is not RunStatus.SUCCEEDED
    tries = sum(each.attempts for key, each in state.steps.items() if not key.startswith("plan"))
    assert len(models.probes) <= (MOST_INTERRUPTED + 1) * tries


async def test_a_budget_that_is_used_up_does_not_say_that_the_server_is_back(open_world: Any):
    clock = FixedClock()
    models = AbsentModels(clock, 0, 10_000.0, ModelError(REFUSED.failure, usage=Usage()))
    world = open_world(models, [Bench().measure], clock=clock, limits=Limits(model_patience_s=300.0, max_requests=8))
    await world.run()

    assert 0 < models.probes[-1] < 300, "it is given up for want of budget, and not of patience"
    assert [note.message for note in await world.events(NoteEmitted) if "answers again" in note.message] == []
