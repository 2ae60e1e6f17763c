"""What is claimed and not shown: results without a call, calls of something else, effects that nobody mentions."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fakes import FakeModels, calls, down
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.domain.errors import FailureClass, ToolError
from leadhand.domain.limits import Limits
from leadhand.domain.run import RunStatus
from leadhand.domain.tool import Source, ToolReturn
from leadhand.tools.decorator import Tool, tool

PAID = calls(("send", {"amount": 30}))


def verdicts(verdict: str, **more: Any) -> Any:
    """A review that says the same about every subtask."""

    def judge(_request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        judged = [
            {"subtask": shown["subtask"], "verdict": verdict, "reason": "so it seems"} for shown in facts["subtasks"]
        ]
        return {"verdicts": judged, "complete": verdict == "accept", **more}

    return judge


def account(error: Exception) -> Tool[..., Any]:
    """A tool that knows the balance of every account but the first."""

    @tool
    async def account(key: str) -> ToolReturn:
        """Look an account up."""
        if key in ("1", "Pari"):
            raise error
        return ToolReturn(
            summary=f"account {key} holds 999", raw=999, sources=(Source(title=key, url=f"http://b/{key}"),)
        )

    return account


# --- results without a call ------------------------------------------------------------------------------------------


async def test_a_result_that_no_tool_call_supports_is_unverified_and_the_answer_says_so(open_world: Any):
    models = FakeModels(plan(ask("pay Bob")), work="I paid 30 to Bob with pay_tool. Receipt #12.")
    world = open_world(models, [Bench().send()])
    state = await world.run("pay 30 to Bob")

    assert state.status is RunStatus.PARTIAL
    (gap,) = state.finished.gaps
    assert (gap.name, gap.reason) == ("pay Bob", "no tool call supports it: unverified")
    assert "pay Bob: no tool call supports it: unverified" in state.finished.answer


async def test_the_reviewer_is_told_which_calls_were_made_and_that_none_was(open_world: Any):
    models = FakeModels(
        plan(ask("a", "look", n=1), ask("b"), ask("c")),
        work=lambda request, facts: (
            calls(("look", {"n": 3}))
            if facts.get("subtask") == {"name": "c"} and len(request.messages) == 2
            else "I did it"
        ),
    )
    world = open_world(models, [Bench().look])
    await world.run()
    facts = models.facts("review")[0]
    (none,) = facts["subtasks"]

    assert facts["verified"]["wo-001.0"] == {"name": "a", "summary": "saw 1", "sources": [1]}, (
        "it was called as ordered"
    )
    assert facts["chosen"] == {"wo-001.2": ["c", [{"look": {"n": 3}}], {"n": 3}, "I did it", {"sources": [2]}]}
    assert (none["calls"], none["doubt"]) == ([], "no tool call supports it")


@pytest.mark.parametrize("verdict", ["", "drop"])
async def test_a_call_of_any_tool_does_not_verify_what_no_tool_was_named_for(open_world: Any, verdict: str):
    """The reviewer must say of each such result whether its calls show what it states."""
    review = verdicts("drop") if verdict else {"verdicts": [], "complete": True, "answer": "The mail was sent."}
    models = FakeModels(plan(ask("mail Bob")), work=[calls(("look", {"n": 1})), "The mail was sent."], review=review)
    state = await open_world(models, [Bench().look, Bench().send()]).run("mail Bob")

    facts = models.facts("review")[0]
    assert "verified" not in facts
    (shown,) = facts["chosen"].values()
    assert shown[:4] == ["mail Bob", [{"look": {"n": 1}}], {"n": 1}, "The mail was sent."]
    assert state.status is not RunStatus.SUCCEEDED
    (gap,) = state.finished.gaps
    assert gap.name == "mail Bob"
    if not verdict:
        assert "no verdict for wo-001.0" in models.requests("review")[1].messages[-1].text


@pytest.mark.parametrize("said", ["Bob is out", "Bob is in"])
async def test_a_result_that_is_not_what_its_chosen_call_returned_is_caught_by_who_reads_both(
    open_world: Any, said: str
):
    """The reviewer of a short list sees the call, what it returned and the text: it needs nothing else to see a lie."""

    @tool
    async def room(name: str) -> str:
        """Look into a room."""
        return f"{name} is in"

    def judge(_request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        (key, (_, made, returned, text, *_)), *others = facts["chosen"].items()
        assert not others
        assert made == [{"room": {"name": "Bob"}}]
        sound = returned == text
        verdict = {"subtask": key, "verdict": "accept" if sound else "drop", "reason": f"it returned {returned}"}
        return {"verdicts": [verdict], "complete": sound, "answer": text}

    models = FakeModels(plan(ask("is Bob in")), work=[calls(("room", {"name": "Bob"})), said], review=judge)
    state = await open_world(models, [room]).run("Is Bob in?")

    assert (state.status is RunStatus.SUCCEEDED) is (said == "Bob is in")
    assert state.assignments["wo-001.0"].accepted is (said == "Bob is in")
    assert ("Bob is out" in state.finished.answer) is False


@pytest.mark.parametrize(
    ("case", "listed"),
    [
        ("", True),
        ("expected in words", True),
        ("expected as an object", False),
        ("a long text", False),
        ("a long return", False),
        ("a return that is stored by itself", False),
        ("a call that failed", False),
        ("done for good", False),
        ("another call than with its arguments", False),
        ("a doubtful figure", False),
    ],
)
async def test_a_result_is_listed_only_if_the_reviewer_sees_all_of_it(open_world: Any, case: str, *, listed: bool):
    @tool
    async def find(word: str) -> str:
        """Find a word."""
        if word == "none":
            raise ToolError("no such word", class_=FailureClass.UNAVAILABLE)
        return "word " * {"a long return": 100, "a return that is stored by itself": 1_000}.get(case, 1)

    subtask, made, said = ask("find it"), [("find", {"word": "sun"})], "found a word"
    match case:
        case "expected in words":
            subtask |= {"expected_output": "the word"}
        case "expected as an object":
            subtask |= {"expected_output": {"type": "object", "properties": {"word": {"type": "string"}}}}
            said = {"word": "word"}
        case "a long text":
            said = "found a word. " * 30
        case "a call that failed":
            made = [("find", {"word": "none"}), *made]
        case "done for good":
            made = [("send", {"amount": 3}), *made]
        case "another call than with its arguments":
            subtask |= {"args": {"word": "moon"}}
        case "a doubtful figure":
            said = "found 317 words"
        case _:
            pass
    models = FakeModels(plan(subtask), work=[*(calls(each) for each in made), said])
    await open_world(models, [find, Bench().send(approval="auto")]).run()

    facts = models.facts("review")[0]
    assert "verified" not in facts
    assert ("chosen" in facts, [each["status"] for each in facts["subtasks"]]) == (
        listed,
        [] if listed else ["completed"],
    )
    if listed:
        more = [{"expected_output": "the word"}] if case else []
        assert facts["chosen"] == {"wo-001.0": ["find it", [{"find": {"word": "sun"}}], "word ", said, *more]}


async def test_a_result_that_rests_on_proven_results_is_verified_and_one_on_an_unproven_is_not(open_world: Any):
    models = FakeModels(plan(ask("a", "look", n=1), {**ask("b"), "needs": [0]}), work="1 is all")
    assert (await open_world(models, [Bench().look]).run()).status is RunStatus.SUCCEEDED

    models = FakeModels(plan(ask("a"), {**ask("b"), "needs": [0]}), work="all of it")
    state = await open_world(models, [Bench().look]).run()
    assert [gap.reason for gap in state.finished.gaps] == [
        "no tool call supports it: unverified",
        "it rests on wo-001.0, which is unverified: unverified",
    ]


# --- calls of something else -----------------------------------------------------------------------------------------


async def test_a_call_with_other_arguments_does_not_prove_what_was_ordered(open_world: Any):
    models = FakeModels(
        plan(ask("balance of 1", "account", key="1")),
        work=[calls(("account", {"key": "2"})), "The balance of account 1 is 999."],
    )
    world = open_world(models, [account(ValueError("account 1 is locked"))])
    state = await world.run()

    assert state.status is RunStatus.FAILED
    assert not state.finished.sources
    (gap,) = state.finished.gaps
    assert gap.reason.startswith("account raised ValueError: account 1 is locked"), "the cause is the tool's own error"
    assert "999" not in state.finished.answer


async def test_another_spelling_after_the_tool_refused_the_first_is_a_correction(open_world: Any):
    models = FakeModels(
        plan(ask("balance", "account", key="Pari")), work=[calls(("account", {"key": "Paris"})), "Paris holds 999."]
    )
    state = await open_world(models, [account(ValueError("no such town"))]).run()

    assert state.status is RunStatus.SUCCEEDED


async def test_another_argument_after_the_tool_refused_the_first_is_shown_as_such(open_world: Any):
    models = FakeModels(
        plan(ask("balance", "account", key="1")), work=[calls(("account", {"key": "2"})), "It holds 999."]
    )
    world = open_world(models, [account(ToolError("there is no account 1", type="not_found"))])
    state = await world.run()

    assert state.status is RunStatus.PARTIAL
    assert "account(key='2') was called instead of account(key='1')" in state.finished.answer


async def test_an_argument_left_to_the_model_must_come_from_what_it_was_told(open_world: Any):
    @tool
    async def price(metal: str, n: int = 0) -> str:
        """The price of a metal."""
        return f"{metal}: 7"

    bench = Bench()
    for metal, status in (("lead", RunStatus.PARTIAL), ("gold", RunStatus.SUCCEEDED)):
        models = FakeModels(
            plan(ask("a", "look", n=1), {**ask("price of gold", "price", n=1), "needs": [0]}),
            work=[calls(("price", {"metal": metal, "n": 1})), "It costs 7."],
        )
        assert (await open_world(models, [bench.look, price]).run()).status is status, metal


async def test_a_call_that_a_person_changed_proves_the_subtask(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("pay", "send", amount=30)))
    world = open_world(models, [bench.send()])
    run_id = await world.start()
    await world.drive(run_id)
    await world.answer(run_id, args={"amount": 20})
    state = await world.drive(run_id)

    assert bench.made == [("send", 20)]
    assert state.status is RunStatus.SUCCEEDED


# --- what was done for good ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["retry", "drop"])
async def test_what_a_rejected_subtask_did_for_good_is_in_the_answer_and_is_not_done_again(
    open_world: Any, verdict: str
):
    bench = Bench()
    models = FakeModels(plan(ask("pay", "send", amount=30)), review=verdicts(verdict), compose="Nothing came of it.")
    world = open_world(models, [bench.send(approval="auto")])
    state = await world.run()

    assert bench.made == [("send", 30)]
    assert "- send(amount=30): sent 30" in state.finished.answer
    (gap,) = state.finished.gaps
    assert gap.next_action == "find out what it did before you ask for it again"


@pytest.mark.parametrize(
    "more",
    [
        {"missing": [ask("pay again", "send", amount=31)]},
        {"verdicts": [{"subtask": "wo-001.0", "verdict": "replan", "replacement": ask("b", "send", amount=29)}]},
        {"verdicts": [{"subtask": "wo-001.0", "verdict": "replan", "replacement": ask("pay him in any way")}]},
    ],
    ids=["as a missing part", "with another amount", "without naming a tool"],
)
async def test_no_review_has_it_done_again_in_other_words(open_world: Any, more: dict[str, Any]):
    bench = Bench()
    review = verdicts("drop", **more) if "verdicts" not in more else {**more, "complete": False}
    models = FakeModels(plan(ask("pay", "send", amount=30)), review=review, work=[PAID, "paid"])
    world = open_world(models, [bench.send(approval="auto")])
    await world.run()

    assert bench.made == [("send", 30)]


async def test_a_rejected_payment_may_be_looked_into(open_world: Any):
    bench = Bench()
    again = {"subtask": "wo-001.0", "verdict": "replan", "replacement": ask("find the receipt", "look", n=1)}
    models = FakeModels(
        plan(ask("pay", "send", amount=30)), review=[{"verdicts": [again], "complete": False}, verdicts("accept")]
    )
    state = await open_world(models, [bench.send(approval="auto"), bench.look]).run()

    assert bench.made == [("send", 30), ("look", 1)]
    assert "send(amount=30): sent 30" in state.finished.answer


async def test_what_a_worker_did_before_it_gave_up_is_in_the_answer(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("pay")), work=[PAID, calls(("give_up", {"reason": "too hard"}))])
    state = await open_world(models, [bench.send(approval="auto")]).run()
    assert "send(amount=30): sent 30" in state.finished.answer

    models = FakeModels(plan({**ask("a", "look", n=1), "expected_output": "all"}), work=[PAID, "saw 1"])
    state = await open_world(models, [bench.look, bench.send(approval="auto")]).run()
    assert bench.made.count(("send", 30)) == 1  # the worker of a look-up cannot pay


async def test_advice_about_other_gaps_does_not_repeat_what_was_done(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("pay", "send", amount=30), ask("b", "look", n=1)),
        review=[
            {
                "verdicts": [{"subtask": "wo-001.0", "verdict": "accept"}, {"subtask": "wo-001.1", "verdict": "drop"}],
                "complete": False,
            }
        ],
    )
    state = await open_world(models, [bench.send(approval="auto"), bench.look], limits=Limits(max_steps=1)).run()

    (gap,) = state.finished.gaps
    assert gap.next_action.endswith("and ask again, without what is done already")


# --- the real cause --------------------------------------------------------------------------------------------------


async def test_a_gap_names_the_tools_own_error_first_and_the_lapse_of_the_model_as_a_detail(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a", "broken", n=1)), work="It divides by zero, I think.")
    world = open_world(models, [bench.broken(ZeroDivisionError("division by zero"))])
    state = await world.run()

    (gap,) = state.finished.gaps
    assert gap.reason.startswith("broken raised ZeroDivisionError: division by zero")
    assert gap.reason.endswith("; the worker answered without it")
    assert "fix" in gap.next_action or "correct the tool" in gap.next_action
    assert len(models.requests("work")) == 3, "the same tool fails the same way in further attempts"
    assert "give_up" not in state.finished.answer


async def test_no_sentence_that_was_written_for_a_model_reaches_a_person(open_world: Any):
    bench = Bench()
    scripts: list[dict[str, Any]] = [
        {"work": "I did it."},
        {"work": ""},
        {"review": "I accept all."},
        {"review": {"verdicts": [], "complete": True}},
        {"review": verdicts("accept", complete=False), "compose": " "},
        {"compose": calls(("look", {"n": 1})), "review": verdicts("accept")},
    ]
    orders = (
        "Call it",
        "call give_up",
        "Answer again",
        "answer with",
        "without calling",
        "say what",
        "You have",
        "Your ",
    )
    for script in scripts:
        models = FakeModels(plan(ask("a", "measure", n=1)), **script)
        state = await open_world(models, [bench.measure]).run()
        told = [state.finished.answer, *(gap.reason for gap in state.finished.gaps), str(state.finished.failure)]
        assert not [(said, order) for said in told for order in orders if order in said], script
    state = await open_world(FakeModels("no plan at all"), [bench.measure]).run()
    assert not [order for order in orders if order in state.finished.answer + str(state.finished.failure)]


async def test_when_composing_fails_the_run_does_not_succeed_and_says_why(open_world: Any):
    models = FakeModels(plan(ask("a", "look", n=1)), review=verdicts("accept"), compose=down())
    state = await open_world(models, [Bench().look]).run()

    assert state.status is RunStatus.PARTIAL
    assert "- saw 1 [1]" in state.finished.answer
    assert "the answer: no text could be composed (the model is down)" in state.finished.answer
    assert state.finished.gaps[0].class_ is FailureClass.UNAVAILABLE


@pytest.mark.parametrize("blank", ["\u200b", " \u2060\n", "\u3164", "\u2800", "\u00ad\ufeff"])
async def test_what_shows_nothing_is_no_result_and_no_answer(open_world: Any, blank: str):
    @tool
    async def silent(n: int) -> ToolReturn:
        """Say nothing."""
        return ToolReturn(summary=blank, raw={"n": n})

    models = FakeModels(plan(ask("a", "silent", n=1)), work=[blank, "n is 1"], review=verdicts("accept"), compose=blank)
    state = await open_world(models, [silent]).run()

    assert len(models.requests("work")) == 2
    assert state.status is RunStatus.PARTIAL
    assert state.finished.answer.startswith("- n is 1\n")
