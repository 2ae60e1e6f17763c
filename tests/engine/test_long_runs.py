"""A request with hundreds of parts, carried out with a model whose window holds a fraction of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine.fakes import FakeModels, composed, down, judged
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.flows.facts import TOKENS_PER_SUBTASK
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.steps import results_of, worker_of

WINDOW = 16_000


class Narrow(FakeModels):
    """Models with a window: what does not fit is refused, as servers do. Four bytes count as a token."""

    def __init__(self, *args: Any, window: int = WINDOW, **kwargs: Any) -> None:
        super().__init__(*args, profile=ModelProfile(name="fake", free=True, window=window), **kwargs)
        self.window = window
        self.largest = 0

    async def ask(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        size = sum(len(message.model_dump_json()) for message in request.messages) // 4
        if request.output is not None:
            size += len(str(request.output.schema_)) // 4
        self.largest = max(self.largest, size + request.max_tokens)
        if size + request.max_tokens > self.window:
            raise down(f"this model has a context length of {self.window} tokens", "too_large", "context_length")
        return await super().ask(request, on_text)


def judged_apart(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """A review that leaves the answer to be composed."""
    return {**judged(request, facts), "answer": None}


def planned_in_pages(request: ModelRequest, facts: dict[str, Any]) -> dict[str, Any]:
    """A lead that writes as much as fits its answer, and goes on where it was."""
    wanted = [int(number) for number in re.findall(r"\d+", facts["request"])]
    page = facts["page"]
    first = page.get("first_index", 0)
    part = wanted[first : first + page["most"]]
    found = plan(*(ask(f"look_at_{n}", "look", n=n) for n in part))
    return {**found, "more": first + len(part) < len(wanted)}


@pytest.mark.slow
async def test_four_hundred_subtasks_are_planned_judged_and_told_within_a_small_window(open_world: Any):
    bench = Bench()
    models = Narrow(planned_in_pages)
    world = open_world(models, [bench.look], limits=Limits(max_workers=100, timeout_s=None))
    state = await world.run("look at " + ", ".join(str(n) for n in range(400)))

    assert state.status is RunStatus.SUCCEEDED, state.finished.gaps[:3]
    assert len(bench.made) == 400
    assert models.largest <= WINDOW
    assert len(models.requests("plan")) == 400 // (2_000 // TOKENS_PER_SUBTASK)
    assert all(re.search(rf"\bsaw {n}\b", state.finished.answer) for n in range(400))
    (brief,) = models.facts("compose")
    assert len(brief["results"]) + brief["listed"] == 400


async def test_a_page_that_repeats_an_earlier_one_is_asked_for_again_and_costs_only_itself(open_world: Any):
    first = {**plan(*(ask(f"s{n}", "look", n=n) for n in range(3))), "more": True}
    world = open_world(FakeModels([first, first, first, first]), [Bench().look])
    state = await world.run()

    assert sum(bool(each.order) for each in state.steps.values()) == 3
    (gap,) = state.finished.gaps
    assert "3 subtasks" in gap.name
    assert "subtask 0" in gap.reason
    assert state.status is RunStatus.PARTIAL


async def test_a_review_that_is_too_large_for_its_model_is_halved_until_it_fits(open_world: Any):
    def picky(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if len(results_of(facts)) > 3:
            return down("too long", "too_large", "context_length")
        return judged(request, facts)

    models = FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(12))), review=picky)
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert [len(results_of(facts)) for facts in models.facts("review")].count(3) == 4


async def test_results_for_which_a_writer_has_no_room_are_listed_below_its_text(open_world: Any):
    def picky(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if len(facts["results"]) > 10:
            return down("too long", "too_large", "context_length")
        return "In short: " + composed(request, facts)

    subtasks = plan(*(ask(f"s{n}", "look", n=n) for n in range(30)))
    models = FakeModels(subtasks, review=judged_apart, compose=picky)
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert [(len(each["results"]), each.get("listed", 0)) for each in models.facts("compose")] == [
        (30, 0),
        (15, 15),
        (7, 23),
    ]
    written, _, listed = state.finished.answer.partition("\n\n")
    assert written.startswith("In short: ")
    assert [f"- saw {n} [" in listed for n in range(30)] == [False] * 7 + [True] * 23
    assert "- saw 25 [26]" in listed


@pytest.mark.parametrize("worker", ["plan", "compose"])
async def test_an_answer_that_was_cut_off_is_asked_for_again_in_fewer_words(open_world: Any, worker: str):
    cut = down("the answer did not fit into 2000 tokens", "invalid", "cut_answer")
    answers: dict[str, Any] = {"plan": [plan(ask("a", "look", n=1))], "compose": [composed]}
    answers[worker].insert(0, cut)
    reviewed = {"review": lambda request, facts: {**judged(request, facts), "answer": None}}
    models = FakeModels(answers["plan"], compose=answers["compose"], **reviewed)
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    again = next(str(each) for each in models.asked[1:] if worker_of(each) == worker and "too long" in str(each))
    assert "666 words" in again
    assert cut.failure.message not in again, "which is for the person who sets the limit"


async def test_null_for_what_a_lead_leaves_out_costs_no_second_request(open_world: Any):
    planned = {**plan(ask("a", "look", n=1)), "cannot": None, "more": None, "answer": None}
    planned["subtasks"][0]["needs"] = None
    reviewed = {"review": lambda request, facts: {**judged(request, facts), "missing": None, "cannot": None}}
    models = FakeModels(planned, **reviewed)
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert [worker_of(each) for each in models.asked] == ["plan", "review"]
