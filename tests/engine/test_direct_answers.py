"""A request that needs no tool is answered in one call, as resting on no source; one that is unclear, by a question."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.domain.run import RunStatus


async def test_a_request_that_needs_no_tool_is_answered_in_one_call_and_rests_on_no_source(open_world: Any):
    models = FakeModels({"answer": "2 + 2 = 4"})
    state = await open_world(models, [Bench().look]).run("2 + 2")

    assert len(models.asked) == 1
    assert not state.orders
    assert state.status is RunStatus.PARTIAL, "nothing shows that it is true"
    once = "the model wrote the answer without a tool"
    assert state.finished.answer == f"2 + 2 = 4\n\nNot verified: {once} ({state.finished.gaps[0].next_action})."
    assert [gap.reason for gap in state.finished.gaps] == [once]
    assert not state.finished.sources


async def test_a_request_that_is_unclear_is_answered_by_a_question(open_world: Any):
    models = FakeModels({"question": "Welches Paris meinen Sie?"})
    state = await open_world(models, [Bench().look]).run("Wie ist das Wetter in Paris?")

    assert len(models.asked) == 1
    assert state.status is RunStatus.PARTIAL
    assert state.finished.answer.startswith("Welches Paris meinen Sie?")
    assert "ask again" in state.finished.gaps[0].next_action


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"answer": "4", "question": "Why?"}, "give either a plan, or an answer, or a question"),
        ({**plan(ask("a", "look", n=1)), "answer": "4"}, "give either a plan, or an answer, or a question"),
        ({"answer": " \n"}, "the answer is empty"),
        ({"subtasks": [ask("a", "look", n=1)]}, "no goal"),
    ],
)
async def test_an_answer_is_the_whole_reply(open_world: Any, value: dict[str, Any], why: str):
    models = FakeModels([value, {"answer": "four"}])
    state = await open_world(models, [Bench().look]).run("2 + 2")

    assert why in models.asked[1].messages[-1].text
    assert state.finished.answer.startswith("four")


async def test_a_later_page_cannot_answer_instead(open_world: Any):
    models = FakeModels([{**plan(ask("a", "look", n=1)), "more": True}, {"answer": "that is all"}, plan()])
    state = await open_world(models, [Bench().look]).run()

    assert "can neither answer nor ask" in models.asked[2].messages[-1].text
    assert state.status is RunStatus.SUCCEEDED


async def test_parts_without_tools_are_thought_about_in_parallel_and_stay_unverified(open_world: Any):
    languages = ("French", "Dutch", "Thai")
    subtasks = [{"name": f"to_{each.lower()}", "expected_output": f"the text in {each}"} for each in languages]
    models = FakeModels(plan(*subtasks), work=lambda request, facts: facts["subtask"]["expected_output"])
    state = await open_world(models, [Bench().look]).run("translate: Good morning")

    assert [facts["request"] for facts in models.facts("work")] == ["translate: Good morning"] * 3
    assert len(models.facts("review")[0]["subtasks"]) == 3, "each is judged in full"
    assert state.status is RunStatus.PARTIAL
    assert [gap.reason for gap in state.finished.gaps] == ["no tool call supports it: unverified"] * 3


@pytest.mark.parametrize("said", ["CANNOT: it is too dark", "**CANNOT:** it is too dark"])
async def test_a_worker_gives_up_in_words(open_world: Any, said: str):
    models = FakeModels(plan(ask("a")), work=said)
    state = await open_world(models, [Bench().look]).run()

    assert state.assignments["wo-001.0"].failure.type == "gave_up"
    assert state.assignments["wo-001.0"].failure.message == "it is too dark"
    assert len(models.requests("work")) == 1


async def test_the_same_words_are_an_answer_of_a_worker_that_was_not_told_to_give_up_in_words(open_world: Any):
    world = open_world(FakeModels(plan(ask("a")), work="CANNOT: a word of four consonants"), [Bench().look])
    world.roles = tuple(
        role.evolve(instructions="Explain it.") if role.name == "work" else role for role in world.roles
    )
    state = await world.run()

    assert state.assignments["wo-001.0"].data.summary == "CANNOT: a word of four consonants"
