"""Results are passed on by reference, checked when they are used; large ones are kept once, beside the log."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.artifact import BLOB_ABOVE, Blob, blob_of
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import ModelCallBegan, ToolCallReturned
from leadhand.core.tool import ToolReturn
from leadhand.tools.decorator import tool

LARGE = {"places": [{"name": f"place {number}", "lat": number} for number in range(400)]}


@tool
async def survey() -> ToolReturn:
    """Survey everything: a large answer."""
    return ToolReturn(raw=LARGE, summary="surveyed 400 places")


@tool
async def list_all() -> dict[str, Any]:
    """List everything: a large answer without words."""
    return LARGE


def result(subtask: int, path: str) -> dict[str, Any]:
    return {"$result": {"subtask": str(subtask), "path": path}}


async def test_an_argument_may_come_from_a_result_that_is_kept_beside_the_log(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "survey"), {**ask("b", "look", n=result(0, "/raw/places/399/lat")), "needs": [0]})
    )
    world = open_world(models, [survey, bench.look])
    state = await world.run()

    assert blob_of(state.steps["wo-001.0"].data.raw) is not None
    assert bench.made == [("look", 399)]
    assert models.requests("work") == []


async def test_a_repaired_subtask_uses_the_result_that_was_pinned(open_world: Any):
    bench = Bench()

    def again(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        verdicts = [{"subtask": "wo-001.0", "verdict": "accept"}, {"subtask": "wo-001.1", "verdict": "retry"}]
        return {"verdicts": verdicts, "complete": False}

    def judged(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        return {"verdicts": [{"subtask": "wo-002.0", "verdict": "accept"}], "complete": True}

    models = FakeModels(
        plan(ask("a", "survey"), {**ask("b", "flaky", n=result(0, "/raw/places/3/lat")), "needs": [0]}),
        review=[again, judged],
    )
    world = open_world(models, [survey, bench.flaky(3, retries=2)])
    state = await world.run()

    assert state.status == "succeeded"
    assert bench.made == [("flaky", 3)] * 4


@pytest.mark.parametrize("path", ["/raw/nowhere", "raw/n", "/raw/n/0"])
async def test_what_a_reference_that_leads_nowhere_should_bring_is_worked_out_with_one_request(
    open_world: Any, path: str
):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "look", n=7), {**ask("b", "measure", n=result(0, path)), "needs": [0]}),
        work=calls(("measure", {"n": 7})),
    )
    state = await open_world(models, [bench.look, bench.measure]).run()

    assert bench.made == [("look", 7), ("measure", 7)]
    assert state.steps["wo-001.1"].data is not None
    assert len(models.requests("work")) == 1


@pytest.mark.parametrize("path", ["/raw/nowhere", "raw/n", "/raw/n/0"])
async def test_nothing_is_called_if_a_worker_cannot_work_out_what_a_reference_should_bring(open_world: Any, path: str):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "look", n=7), {**ask("b", "look", n=result(0, path)), "needs": [0]}),
        work=calls(("give_up", {"reason": "no number"})),
    )
    world = open_world(models, [bench.look])
    state = await world.run()

    assert bench.made == [("look", 7)]
    assert state.steps["wo-001.1"].failure is not None


async def blobs_of(world: World) -> dict[str, bytes]:
    """What is kept beside the log."""
    return dict(world.store.blobs)


async def test_a_large_answer_is_kept_once_and_the_log_only_points_at_it(open_world: Any):
    world = open_world(FakeModels(plan(ask("a", "survey"), ask("b", "survey"))), [survey])
    state = await world.run()

    kept = await blobs_of(world)
    ((digest, body),) = [item for item in kept.items() if json.loads(item[1]) == LARGE]
    assert digest == f"sha256:{hashlib.sha256(body).hexdigest()}"
    for event in await world.events(ToolCallReturned):
        assert event.raw == {"$blob": digest, "bytes": len(body)}
    for entry in (await world.entries())[1:]:  # the first pins workers and tools with their schemas
        assert len(entry.event.model_dump_json()) < 2 * BLOB_ABOVE, f"{entry.event.type} holds a copy"
    assert blob_of(state.steps["wo-001.0"].data.raw) == Blob(digest=digest, size=len(body))
    assert json.loads(await world.store.blob(digest)) == LARGE


async def test_after_a_crash_the_large_answer_is_fetched_and_not_asked_for_again(open_world: Any):
    made: list[str] = []

    @tool(name="list_all")
    async def counted() -> dict[str, Any]:
        """List everything."""
        made.append("list_all")
        return LARGE

    models = FakeModels(plan(ask("a", "list_all")), work="There are 400.")
    world = open_world(models, [counted], worker_calls="always")
    await world.run()
    log = await world.entries()
    upto = next(e.seq for e in log if isinstance(e.event, ModelCallBegan) and e.event.attempt.startswith("wo-"))

    second = open_world(FakeModels(plan(), work="There are 400."), [counted], worker_calls="always")
    await second.store.create("run_1", log[0].event)
    await second.store.append("run_1", [entry.event for entry in log[1:upto]], blobs=await blobs_of(world))
    state = await second.take_over("run_1")

    assert made == ["list_all"]
    assert state.status == "succeeded"
    (told,) = [m for m in second.models.requests("work")[0].messages if isinstance(m, ToolMessage)]
    assert "place 399" in told.content
