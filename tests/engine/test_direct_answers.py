"""A request that needs no tool is answered in one call; one that is unclear asks the person."""

from __future__ import annotations

from typing import Any

import pytest
from core.histories import History, definition

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.decide import End, Settle
from leadhand.core.errors import HOOK_BLOCKED, Failure, FailureClass
from leadhand.core.events import QuestionAnswered
from leadhand.core.run import RunStatus
from leadhand.engine.hooks import Hooks


async def test_a_request_that_needs_no_tool_is_answered_in_one_call_and_succeeds(open_world: Any):
    models = FakeModels({"answer": "2 + 2 = 4"})
    state = await open_world(models, [Bench().look]).run("2 + 2")

    assert len(models.asked) == 1
    assert not state.orders
    assert (state.status, state.finished.answer) == (RunStatus.SUCCEEDED, "2 + 2 = 4")
    assert (state.finished.gaps, state.finished.sources) == ((), ())


async def test_a_request_that_is_unclear_waits_for_the_answer_to_a_question(open_world: Any):
    models = FakeModels([{"question": "Welches Paris meinen Sie?"}, plan(ask("a", "look", n=1))])
    world = open_world(models, [Bench().look])
    waiting = await world.run("Wie ist das Wetter in Paris?")

    assert len(models.asked) == 1
    assert waiting.status is RunStatus.WAITING
    (asked,) = waiting.questions.values()
    assert asked.text == "Welches Paris meinen Sie?"

    first, second = (QuestionAnswered(question_id=asked.id, text=text, by="me") for text in ("Texas", "France"))
    await world.append("run_1", first, second)
    state = await world.take_over("run_1")
    assert state.status is RunStatus.SUCCEEDED
    assert [each.reply for each in state.questions.values()] == ["Texas"], "the first answer counts"
    assert [(each["question"], each["answer"]) for each in models.facts("plan")[1]["answered"]] == [
        ("Welches Paris meinen Sie?", "Texas")
    ]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"answer": "4", "question": "Why?"}, "question"),
        ({**plan(ask("a", "look", n=1)), "answer": "4"}, "answer"),
        ({"answer": " \n"}, "answer"),
        ({"subtasks": [ask("a", "look", n=1)]}, "goal"),
    ],
)
async def test_an_answer_is_the_whole_reply(open_world: Any, value: dict[str, Any], named: str):
    models = FakeModels([value, {"answer": "four"}])
    state = await open_world(models, [Bench().look]).run("2 + 2")

    assert named in models.asked[1].messages[-1].text
    assert state.finished.answer == "four"


@pytest.mark.parametrize("said", ["CANNOT: it is too dark", "**CANNOT:** it is too dark"])
async def test_a_worker_gives_up_in_words(open_world: Any, said: str):
    models = FakeModels(plan(ask("a")), work=said)
    state = await open_world(models, [Bench().look]).run()

    assert state.steps["wo-001.0"].failure.type == "gave_up"
    assert state.steps["wo-001.0"].failure.message == "it is too dark"
    assert len(models.requests("work")) == 1


async def test_the_same_words_are_an_answer_of_a_worker_that_was_not_told_to_give_up_in_words(open_world: Any):
    world = open_world(FakeModels(plan(ask("a")), work="CANNOT: a word of four consonants"), [Bench().look])
    world.workers = tuple(
        worker.evolve(instructions="Explain it.") if worker.name == "work" else worker for worker in world.workers
    )
    state = await world.run()

    assert state.steps["wo-001.0"].data.summary == "CANNOT: a word of four consonants"


async def test_nothing_of_an_answer_that_a_hook_blocks_is_in_the_end_of_its_run():
    class NoNumbers(Hooks):
        async def before_answer(self, run_id: str, definition: Any, answer: str, value: Any = None) -> Failure | None:
            return Failure.of("no numbers", HOOK_BLOCKED, FailureClass.REJECTED) if "4711" in answer else None

    history = History(definition("exact"))
    history.decide_all()
    history.thinks(history.live[0], {"answer": "It is 4711."})
    history.command(Settle(step="plan"))
    history.policy.next(history.state)
    ended = history.policy.decide(history.state, End(), history.now)
    (end,) = await NoNumbers().guarded(history.state, ended)

    assert "4711" in str(ended)
    assert "4711" not in str(end)
    assert end.status is RunStatus.FAILED
