"""The lead proposes; what cannot be acted on is asked for again with the reason, a fixed number of times."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from core.histories import History, definition
from core.invariants import reserved_total

from engine.fakes import FakeModels, calls, composed, down, judged
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.cli.terminal.progress import Progress
from leadhand.core.conversation import UserMessage
from leadhand.core.decide import End, Settle
from leadhand.core.errors import HOOK_BLOCKED, Failure, FailureClass
from leadhand.core.events import NoteEmitted, QuestionAnswered
from leadhand.core.limits import Limits, Money
from leadhand.core.run import RunStatus
from leadhand.engine.hooks import Hooks
from leadhand.flows.facts import TOKENS_PER_SUBTASK
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.steps import results_of, worker_of

GOOD = plan(ask("a", "look", n=1))
BAD_PLANS = {
    "words": ("I would look at number one.", ("JSON",)),
    "a list": ([], ("object",)),
    "no goal": ({"subtasks": [ask("a", "look", n=1)]}, ("goal",)),
    "one thing too many": ({**GOOD, "comment": "so"}, ("comment",)),
    "unknown tool": (plan(ask("a", "fly", n=1)), ("'fly'", "look")),
    "wrong type of argument": (plan(ask("a", "look", n="one")), ("look", "n: ")),
    "missing argument": (plan(ask("a", "look")), ("a", "n")),
    "unknown argument": (plan(ask("a", "look", n=1, m=2)), ("look", "m")),
    "wrong type beside a need": (plan(ask("a", "look", n=1), {**ask("b", "look", n="one"), "needs": [0]}), ("n: ",)),
    "circle": (plan({**ask("a"), "needs": [1]}, {**ask("b"), "needs": [0]}), ("cycle",)),
    "unknown need": (plan({**ask("a"), "needs": [5]}), ("subtask 5",)),
    "nothing": (plan(), ("subtasks",)),
}
"""Plans, and the data that an objection to each names."""


@pytest.mark.parametrize("name", BAD_PLANS)
async def test_a_plan_that_cannot_be_carried_out_is_asked_for_again_with_the_reason(open_world: Any, name: str):
    bad, named = BAD_PLANS[name]
    bench = Bench()
    models = FakeModels([bad, GOOD])
    world = open_world(models, [bench.look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.made == [("look", 1)], "something ran before the plan was sound"
    objection = models.requests("plan")[1].messages[-1]
    assert isinstance(objection, UserMessage)
    assert all(each in objection.text for each in named)
    (told,) = [each for each in await world.events(NoteEmitted) if each.refused]
    progress = Progress()
    lines = [str(line) for entry in await world.entries() if (line := progress.take(entry)) is not None]
    assert any(told.message in line for line in lines)
    assert told.message != objection.text, "which is for the model"


async def test_a_plan_that_calls_a_tool_instead_is_told_that_this_is_no_plan(open_world: Any):
    models = FakeModels([calls(("look", {"n": 1})), GOOD])
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert "JSON" in str(models.requests("plan")[1].messages[2:])


async def test_a_lead_without_a_model_fails_the_run_at_once_with_what_to_do(open_world: Any):
    models = FakeModels(down("the key was refused"))
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.FAILED
    assert len(models.asked) == 1, "it was tried again"
    assert "the key was refused" in state.finished.failure.message
    assert state.finished.failure.class_ is FailureClass.UNAVAILABLE
    assert state.finished.failure.next_action


async def test_a_review_that_stays_bad_leaves_gaps_beside_the_results(open_world: Any):
    models = FakeModels(
        plan({**ask("a", "look", n=1), "expected_output": "it"}), review={"verdicts": [], "complete": True}
    )
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "saw 1" in state.finished.answer
    assert [(gap.step, gap.class_) for gap in state.finished.gaps] == [("wo-001.0", FailureClass.INSUFFICIENT)]
    assert len(models.requests("review")) == 3


async def test_a_review_can_replace_a_subtask_and_add_one(open_world: Any):
    def once_more(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        replacement = ask("a2", "look", n=7)
        verdicts = [
            {"subtask": "wo-001.0", "verdict": "replan", "replacement": replacement},
            {"subtask": "wo-001.1", "verdict": "accept"},
        ]
        return {"verdicts": verdicts, "complete": False, "missing": [ask("c", "look", n=8)]}

    bench = Bench()
    models = FakeModels(plan(ask("a", "look", n=1), ask("b", "look", n=2)), review=[once_more, judged])
    world = open_world(models, [bench.look])
    state = await world.run()

    assert sorted(bench.made) == [("look", 1), ("look", 2), ("look", 7), ("look", 8)]
    assert state.status is RunStatus.SUCCEEDED
    assert state.finished.answer == "saw 2; saw 7; saw 8"


async def test_an_empty_composition_is_asked_for_again(open_world: Any):
    models = FakeModels(
        plan(ask("a", "look", n=1)),
        review=lambda request, facts: {**judged(request, facts), "answer": None},
        compose=["  ", "I saw one."],
    )
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.finished.answer == "I saw one."


async def test_a_model_that_hangs_is_given_up_and_asked_again(open_world: Any):
    async def hangs_once(_request: Any) -> None:
        if len(models.asked) == 1:
            await asyncio.Event().wait()

    models = FakeModels(GOOD, hold=hangs_once)
    world = open_world(models, [Bench().look], limits=Limits(attempt_timeout=0.05))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert len(models.requests("plan")) == 2
    assert reserved_total(state) == Money()
    assert state.spent.requests == 3, "a call that went out was not counted"


async def test_a_defect_of_an_adapter_costs_its_attempt_and_not_the_process(open_world: Any):
    models = FakeModels(plan(ask("a"), ask("b", "look", n=2)), work=ZeroDivisionError("a bug"))
    bench = Bench()
    world = open_world(models, [bench.look, bench.measure])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "ZeroDivisionError: a bug" in state.finished.gaps[0].reason
    assert reserved_total(state) == Money()


async def test_the_answer_is_broadcast_as_it_is_written_and_only_the_finished_one_is_logged(open_world: Any):
    models = FakeModels(
        plan(ask("a", "measure", n=1)),
        work="It measures 10.",
        review=lambda request, facts: {**judged(request, facts), "answer": None},
        compose=[" ", "It is 10 [9]."],
    )
    world = open_world(models, [Bench().measure])
    state = await world.run()

    assert "".join(piece for _, attempt, piece in world.written if attempt == "compose/a1").strip() == "It is 10 [9]."
    assert ("run_1", "compose/a1", "") in world.written, "the first one is called back"
    assert state.finished.answer == "It is 10 [9]."


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
    world = open_world(models, [bench.look], limits=Limits(max_workers=100, timeout=None))
    state = await world.run("look at " + ", ".join(str(n) for n in range(400)))

    assert state.status is RunStatus.SUCCEEDED, state.finished.gaps[:3]
    assert len(bench.made) == 400
    assert models.largest <= WINDOW
    assert len(models.requests("plan")) == 400 // (2_000 // TOKENS_PER_SUBTASK)
    assert all(re.search(rf"\bsaw {n}\b", state.finished.answer) for n in range(400))
    (brief,) = models.facts("compose")
    assert len(brief["results"]) + brief["listed"] == 400


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
