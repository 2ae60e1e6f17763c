"""What a task expects in a sentence is checked: by code as far as code can tell, else by one call of a reviewer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus
from leadhand.app.model_calls import model_call
from leadhand.domain.conversation import ModelRequest, UserMessage
from leadhand.domain.events import ModelCallReturned
from leadhand.flows.research.expected_output import lacking
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, fails

from .runs import QUESTION, lead, model, research, review, search, task, told

FOUND = "A heat pump in a house of 1930 needs 9 kW. [aaaaaaaa.1]"
ANSWER = "A heat pump in a house of 1930 needs 9 kW [aaaaaaaa.1]."
TWO, THREE = "- 9 kW\n- 1930", "- 9 kW\n- 1930\n- a heat pump"


@pytest.mark.parametrize(
    ("expected", "good", "bad", "problem"),
    [
        ("A list of three bullet points", THREE, TWO, "it has 2 list items, not three bullet points"),
        ("at least 3 items", THREE, TWO, "it has 2 list items, not at least 3 items"),
        ("at most two bullets", TWO, THREE, "it has 3 list items, not at most two bullets"),
        ("fewer than 3 points", TWO, THREE, "it has 3 list items, not fewer than 3 points"),
        (
            "In at most 4 words.",
            "four words are fine",
            "five words are too many",
            "it has 5 words, not at most 4 words",
        ),
        ("10 words or fewer", "short", " ".join(["w"] * 11), "it has 11 words, not 10 words or fewer"),
        ("about 10 words", " ".join(["w"] * 14), "short", "it has 1 words, not about 10 words"),
        ("JSON", '```json\n{"a": 1}\n```', "a: 1", "it is not JSON"),
        ("a Markdown table", "| a | b |\n|---|---|\n| 1 | 2 |", "a | b", "it has no table"),
        ("just a number", "9 kW", "nine", "it has no number"),
        ("a date", "on 3 May 2021", "last year", "it has no date"),
        ("the exact date, YYYY-MM-DD", "2021-05-03", "in May", "it has no date"),
        ("a URL", "https://example.org/a", "example.org", "it has no URL"),
        (
            "in German",
            "Die Pumpe ist für das alte Haus und sie wird nicht mit Gas betrieben",
            "The pump is for the old house and it is not used with gas in this case",
            "it is in English, not in German",
        ),
    ],
)
def test_code_checks_what_a_sentence_states_in_checkable_form(expected: str, good: str, bad: str, problem: str) -> None:
    assert lacking(expected, [good]) == ([], True)
    assert lacking(expected, [bad]) == ([problem], True)
    assert lacking(expected, [bad, good]) == ([], True), "one of the texts has it"


@pytest.mark.parametrize(
    "expected",
    [
        "the costs per year",
        "an up-to-date overview of the number of inhabitants",
        "what the table in the kitchen costs",
        "three causes",
        "one sentence",
    ],
)
def test_what_code_does_not_understand_is_left_to_a_model(expected: str) -> None:
    for text in ("x", TWO):
        assert lacking(expected, [text]) == ([], False)


def subagent(*details: Any) -> Callable[[ModelRequest], Any]:
    """A subagent that searches and then gives these details, one in each of its answers; the last one stays."""

    def reply(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn == 0:
            return calls("search", query="size")
        detail = details[min(turn, len(details)) - 1]
        return detail if callable(detail) else {"summary": FOUND, "detail": detail}

    return reply


class Judge:
    """A reviewer that gives these verdicts, and counts how often it is asked."""

    def __init__(self, *verdicts: Any) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: ModelRequest) -> Any:
        facts = brief_of(request)
        if "expected_output" not in facts:
            return review(request)
        self.asked.append(facts)
        verdict = self.verdicts[min(len(self.asked), len(self.verdicts)) - 1]
        return {"missing": verdict} if isinstance(verdict, list) else verdict


def run(home: Path, expected: str, details: list[Any], judge: Judge, **limits: Any) -> tuple[ScriptedModel, Any, Any]:
    """Carry out a run with one task; return the model, the answer, and what the lead was told."""
    one = calls("subagent_run", **task("size", expected_output=expected))
    scripted = model(lead=lead(one, ANSWER), subagent=subagent(*details), reviewer=judge)
    answer = research(home, scripted, **limits)
    return scripted, answer, told(scripted)[0]


def asked(scripted: ScriptedModel) -> int:
    return sum(each.role == "subagent" for each in scripted.requests)


def test_what_code_finds_missing_is_asked_for_once_more_without_a_judge(home: Path) -> None:
    judge = Judge()
    scripted, answer, result = run(home, "a list of 3 bullet points", [TWO, THREE], judge)

    assert (answer.status, judge.asked, asked(scripted)) == (RunStatus.SUCCEEDED, [], 3)
    assert result == {"summary": FOUND, "detail": THREE}
    last = [each for each in scripted.requests if each.role == "subagent"][-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert last.text.startswith(
        "That is not what expected_output asks for: it has 2 list items, not 3 bullet points. Write the whole answer"
    )


def test_a_result_that_does_not_match_twice_is_returned_to_the_lead_and_says_so(home: Path) -> None:
    judge = Judge()
    scripted, answer, result = run(home, "a list of 3 bullet points", [TWO], judge)

    assert (answer.status, judge.asked, asked(scripted)) == (RunStatus.SUCCEEDED, [], 3)
    assert result == {
        "summary": FOUND,
        "detail": TWO,
        "not_as_expected": ["it has 2 list items, not 3 bullet points"],
    }


def test_where_code_cannot_tell_a_reviewer_is_asked_once(home: Path) -> None:
    judge = Judge([])
    scripted, answer, result = run(home, "the costs and the size, as 2 bullet points", [TWO], judge)

    assert (answer.status, asked(scripted), "not_as_expected" in result) == (RunStatus.SUCCEEDED, 2, False)
    assert judge.asked == [
        {
            "expected_output": "the costs and the size, as 2 bullet points",
            "result": {"detail": TWO, "summary": "A heat pump in a house of 1930 needs 9 kW."},
        }
    ]


def test_what_the_reviewer_misses_is_asked_for_and_judged_once_more(home: Path) -> None:
    judge = Judge(["the costs"], [])
    scripted, _, result = run(home, "the costs and the size", [TWO, THREE], judge)
    assert (asked(scripted), len(judge.asked), result["detail"]) == (3, 2, THREE)
    assert "not_as_expected" not in result


def test_a_reviewer_that_is_never_content_costs_two_calls_and_the_result_counts_with_a_mark(home: Path) -> None:
    judge = Judge(["the moon"])
    scripted, answer, result = run(home, "the costs and the size", [TWO], judge)
    assert (asked(scripted), len(judge.asked), answer.status) == (3, 2, RunStatus.SUCCEEDED)
    assert result["not_as_expected"] == ["the moon"]


def test_a_reviewer_that_lies_cannot_overrule_what_code_sees(home: Path) -> None:
    judge = Judge([])
    scripted, _, result = run(home, "the costs and the size as 3 bullet points", [TWO], judge)
    assert (asked(scripted), judge.asked) == (3, [])
    assert result["not_as_expected"] == ["it has 2 list items, not 3 bullet points"]


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (fails("invalid", "bad_request", "the provider is away"), "nobody checked it: the provider is away"),
        ({"missing": "nothing"}, "nobody checked it: "),
        ("It is fine.", "nobody checked it: "),
    ],
)
def test_a_result_that_nobody_could_judge_is_not_called_matching(home: Path, verdict: Any, why: str) -> None:
    judge = Judge(verdict)
    scripted, answer, result = run(home, "the costs and the size", [TWO], judge)
    assert (asked(scripted), answer.status) == (2, RunStatus.SUCCEEDED)
    assert result["not_as_expected"][0].startswith(why)


def test_verdicts_count_against_the_limits_and_no_result_is_lost_to_them(home: Path) -> None:
    """Of six requests, two are held back: none is left to ask the subagent once more, nor for the lead."""
    judge = Judge(["the costs"])
    scripted = model(
        lead=lead(calls("subagent_run", **task("size", expected_output="the costs and the size")), ANSWER),
        subagent=subagent(TWO),
        reviewer=judge,
        writer=ANSWER.replace("aaaaaaaa.1", "p1"),
    )
    answer = research(home, scripted, max_requests=6)
    assert len(scripted.requests) == answer.document["usage"]["requests"] <= 6
    assert (asked(scripted), len(judge.asked)) == (2, 1)
    (written,) = (each for each in scripted.requests if each.role == "writer")
    assert [each["task"] for each in brief_of(written)["findings"]] == ["size"]
    assert answer.text.startswith("A heat pump in a house of 1930 needs 9 kW [1].")


def test_what_was_asked_for_again_and_brought_nothing_leaves_the_first_result(home: Path) -> None:
    gave_up = lambda _: calls("give_up", reason="there is no more")  # noqa: E731
    details = [TWO, gave_up]
    scripted = model(
        lead=lead(calls("subagent_run", **task("size", expected_output="3 bullet points")), ANSWER),
        subagent=lambda request: (
            (reply := subagent(*details)(request)) and (reply(request) if callable(reply) else reply)
        ),
    )
    assert research(home, scripted).status is RunStatus.SUCCEEDED
    assert told(scripted)[0]["not_as_expected"] == ["it has 2 list items, not 3 bullet points"]


def test_a_file_can_be_what_is_expected(home: Path) -> None:
    judge = Judge([])
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    write = calls("filesystem_write", path="t.md", content=table)

    def writes(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        last = {"summary": FOUND, "artifact_path": "memory/t.md"}
        return [calls("search", query="size"), write, last][min(turn, 2)]

    scripted = model(
        lead=lead(calls("subagent_run", **task("size", expected_output="a table of costs in a file")), ANSWER),
        subagent=writes,
        reviewer=judge,
    )
    assert research(home, scripted).status is RunStatus.SUCCEEDED
    assert "not_as_expected" not in told(scripted)[0]
    assert judge.asked[0]["result"]["files"] == {"memory/t.md": table}


async def test_a_verdict_is_in_the_log_and_is_not_asked_for_again_after_a_crash(home: Path) -> None:
    """The process stops while the subagent is asked once more: the verdict on its first answer is known."""
    judge = Judge(["the costs"], [])
    scripted = model(
        lead=lead(calls("subagent_run", **task("size", expected_output="the costs and the size")), ANSWER),
        subagent=subagent(TWO, THREE),
        reviewer=judge,
    )
    ask, held = scripted.ask, asyncio.Event()

    async def holding(request: ModelRequest, on_text: Any = None) -> Any:
        if not held.is_set() and request.role == "subagent" and len(request.messages) == 6:
            held.set()
            await asyncio.Event().wait()
        return await ask(request, on_text)

    scripted.ask = holding
    async with Leadhand(home=home, models=scripted, tools=[search]) as world:
        first = await world.start(QUESTION, flow="research")
        await asyncio.wait_for(held.wait(), 60)
        await first.pause("as a crash does")
        assert (await first.answer()).status is RunStatus.PAUSED
    async with Leadhand(home=home, models=scripted, tools=[search]) as world:
        run = await world.resume(first.run_id)
        answer = await run.answer()
        assert answer.status is RunStatus.SUCCEEDED
        runtime = await world.runtime()
        entries = await runtime.store.read(run.run_id)
        returned = [each.event for each in entries if isinstance(each.event, ModelCallReturned)]
        assert [each.value for each in returned if "expected_output" in str(each.asked)] == [
            {"missing": ["the costs"]},
            {"missing": []},
        ]
        for each in dict.fromkeys(each.call_id for each in returned):
            prompt = (await model_call(runtime, run.run_id, each)).prompt
            assert prompt is not None
            assert prompt.as_sent, each
    assert len(judge.asked) == 2
