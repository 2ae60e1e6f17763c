"""What goes over the wire: each worker sees what it uses, stable parts first, with a schema that its answer fits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand import tool
from leadhand.models.openai.forms import Form
from leadhand.models.openai.wire import chat_body, encode


@tool
async def silent(n: int) -> dict[str, int]:
    """Say nothing in words."""
    return {"n": n}


async def test_the_workers_of_a_run_share_the_beginning_of_their_prompts(open_world: Any):
    models = FakeModels(plan(*(ask(f"s{n}", "silent", n=n) for n in range(10, 20))))
    await open_world(models, [silent, Bench().look], worker_calls="always").run("look at ten things")
    sent = [encode(chat_body(request, "m", Form())) for request in models.requests("work")]

    assert len(sent) == 10
    for one, other in pairwise(sent):
        same = next(at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
        assert same / len(one) >= 0.6
    assert [each.name for each in models.requests("work")[0].tools] == ["silent"], "its own tool, and no other"


async def test_a_worker_that_chooses_is_shown_the_request_and_all_tools(open_world: Any):
    models = FakeModels(plan(ask("a")))
    await open_world(models, [silent, Bench().look]).run("look at it")
    (request,) = models.requests("work")

    assert [each.name for each in request.tools] == ["silent", "look"]
    assert models.facts("work") == [
        {"request": "look at it", "subtask": {"name": "a"}, "today": "2025-12-16, Tuesday, UTC"}
    ]


async def test_a_reference_to_a_result_is_a_need(open_world: Any):
    referring = ask("b", "look", n={"$result": {"subtask": "0", "path": "/raw/n"}})
    models = FakeModels(plan(ask("a", "silent", n=3), referring))
    state = await open_world(models, [silent, Bench().look]).run()

    assert state.steps["wo-001.1"].subtask.needs == ("wo-001.0",)
    assert "saw 3" in state.finished.answer


async def test_a_verified_result_is_accepted_unless_the_review_objects(open_world: Any):
    models = FakeModels(
        plan(ask("a", "look", n=1), ask("b", "look", n=2)),
        review={"verdicts": [{"subtask": "wo-001.1", "verdict": "drop", "reason": "nobody asked"}], "complete": True},
    )
    state = await open_world(models, [Bench().look]).run()

    assert state.steps["wo-001.0"].accepted
    assert not state.steps["wo-001.1"].accepted
    assert [result["summary"] for result in models.facts("compose")[0]["results"]] == ["saw 1"]


@pytest.mark.parametrize("irreversible", [False, True])
async def test_what_was_done_for_good_is_judged_in_full(open_world: Any, irreversible: bool):
    bench = Bench()
    models = FakeModels(plan(ask("a", "send", amount=3) if irreversible else ask("a", "look", n=1)))
    await open_world(models, [bench.look, bench.send(approval="auto")]).run()

    assert ("as_ordered" in models.facts("review")[0]) is not irreversible
    assert len(models.facts("review")[0]["subtasks"]) == int(irreversible)
