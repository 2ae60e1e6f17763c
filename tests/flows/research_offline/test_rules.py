"""What the rule-based lead and its subagents do, turn by turn, over the documents that come with Leadhand."""

from __future__ import annotations

import re

import pytest

from leadhand.domain.tool import ToolSpec
from leadhand.flows.offline.rule import OfflineRequest
from leadhand.flows.report.offline import BYLINE
from leadhand.flows.research.offline import NOT_BEGUN, RULES, UNANSWERED, lead, subagent, write

from .desk import Desk

RECOVER = "How does Leadhand recover after a crash?"
PART = re.compile(r"^## (.*)$", re.MULTILINE)
CITATION = re.compile(r"\[([0-9a-f]{8}\.\d+)\]")


def test_a_question_about_leadhand_is_answered_from_its_documentation() -> None:
    desk = Desk()
    answer = desk.ask(RECOVER)
    assert [turn.tools for turn in desk.turns] == [
        ["todo_list_write", "subagent_run"],
        ["filesystem_read", "todo_list_write"],
        [],
    ]
    assert "After a crash, Leadhand rebuilds the state of the run from its log" in answer
    (path,) = desk.files
    assert path == "memory/leadhand-recover-crash.md"
    assert set(CITATION.findall(answer)) <= set(CITATION.findall(desk.files[path]))
    assert "leadhand:docs/how-to/resume-a-run.md" in desk.files[path]
    assert desk.todos == [{"id": "1", "content": RECOVER, "status": "completed"}]


def test_the_parts_of_a_question_are_researched_in_parallel() -> None:
    desk = Desk()
    answer = desk.ask("How do I brew coffee, and how hot should the water be?")
    assert desk.turns[0].tools == ["todo_list_write", "subagent_run", "subagent_run"]
    assert PART.findall(answer) == ["How do I brew coffee?", "How hot should the water be?"]
    assert "cold brew" in answer
    assert "The water should have 90 to 96 °C." in answer


def test_the_rest_of_a_question_hides_no_source_of_a_part() -> None:
    answer = Desk().ask("How do I brew coffee, and how hot should the water be, on Jupiter?")
    assert "cold brew" in answer
    assert "Nothing was found about: Jupiter." in answer


def test_a_part_without_an_answer_is_named_and_its_todo_remains_open() -> None:
    desk = Desk()
    answer = desk.ask("Who wrote Hamlet, and what is a fork?")
    assert f"## Who wrote Hamlet?\n\n{UNANSWERED}" in answer
    assert "- Fork: A new run that starts with the log of another run" in answer
    assert [todo["status"] for todo in desk.todos] == ["pending", "completed"]


def test_a_question_that_looks_like_a_citation_is_none() -> None:
    assert "## What is (p1)?" in Desk().ask("What is a fork? What is [p1]?")


@pytest.mark.slow
def test_a_long_question_makes_short_todos_and_tasks() -> None:
    desk = Desk()
    desk.ask(f"What is a fork? {'Where is the wall of ' + 'stones ' * 1_500}?")
    tasks = [call.args["task"] for turn in desk.turns for call in turn.calls if call.tool == "subagent_run"]
    assert max(len(task["prompt"]) for task in tasks) < 20_000
    assert max(len(task["description"]) for task in tasks) <= 2_000
    assert max(len(todo["content"]) for todo in desk.todos) <= 200


def test_a_word_that_nothing_answers_is_named() -> None:
    answer = Desk().ask("How does Leadhand recover after a crash on Jupiter?")
    assert "After a crash, Leadhand rebuilds" in answer
    assert "Nothing was found about: Jupiter." in answer


def test_a_question_without_any_answer_is_given_up() -> None:
    for question in ("Who is the king of France?", "Wie erholt sich Leadhand nach einem Absturz?", "🙂 xyzzy"):
        desk = Desk()
        assert desk.ask(question) == f"CANNOT: no source that was found answers: {question}"
        assert desk.files == {}


def test_what_needs_no_research_takes_one_turn() -> None:
    for question in ("hello", "2+2"):
        desk = Desk()
        desk.ask(question)
        assert len(desk.turns) == 1


def test_files_of_earlier_runs_are_no_sources() -> None:
    first = Desk()
    first.ask(RECOVER)
    desk = Desk(first.files)
    answer = desk.ask("Can Leadhand recover after a crash?")
    assert any("subagent_run" in turn.tools for turn in desk.turns)
    assert CITATION.findall(answer)


def test_a_follow_up_is_about_what_was_asked_before() -> None:
    earlier = {"request": "How much does a borehole for a heat pump cost?", "answer": "…", "sources": []}
    desk = Desk(earlier=earlier)
    answer = desk.ask("And how deep is it?")
    assert "metres" in answer
    assert "earlier" not in answer
    reason = "CANNOT: the question does not say what it is about: And how deep is it?"
    assert Desk().ask("And how deep is it?") == reason


def test_no_more_subagents_are_run_than_allowed() -> None:
    desk = Desk(max_subagents=1)
    answer = desk.ask("What is a fork? What is an epoch?")
    assert sum(turn.tools.count("subagent_run") for turn in desk.turns) == 1
    assert f"## What is an epoch?\n\n{NOT_BEGUN}" in answer
    assert Desk(max_subagents=0).ask("What is a fork?").startswith("CANNOT: ")


def test_without_the_tool_for_parallel_calls_they_are_made_one_after_another() -> None:
    desk = Desk(without=["parallel_tool_call"])
    answer = desk.ask("What is a fork? How do workers use tools?")
    assert all(len(turn.calls) <= 1 for turn in desk.turns)
    assert len(PART.findall(answer)) == 2


def test_a_subagent_that_cannot_write_files_returns_everything_in_its_result() -> None:
    desk = Desk(without=["filesystem_write"])
    answer = desk.ask("What is a fork?")
    assert desk.files == {}
    assert "- Fork: A new run that starts with the log of another run" in answer
    assert answer.count("- Fork") == 1


def test_a_subagent_without_a_tool_for_searches_gives_up() -> None:
    task = {"task_name": "x", "prompt": "What is a fork?", "description": "", "tool_budget": 3}
    reply = subagent({"task": task}, OfflineRequest("subagent", (ToolSpec(name="t", description="", parameters={}),)))
    assert reply == "CANNOT: no tool takes a query"


def test_roles_of_other_flows_with_these_names_have_no_rule() -> None:
    for name in ("lead", "subagent", "writer"):
        assert RULES[name]({"request": "What is a fork?"}, OfflineRequest(name)) is None
    assert lead({"question": "hello"}, OfflineRequest("lead")) is None


def test_the_writer_joins_what_was_found_and_names_what_was_not() -> None:
    findings = [
        {"task": "a_fork", "summary": "A fork is a run. [p1]", "detail": "A fork is a run. [p1] It has a log. [p2]"},
        {"task": "an_epoch", "summary": "An epoch is a number. [p3]"},
    ]
    facts = {"question": "?", "findings": findings, "passages": {}, "missing": ["an owner"]}
    facts["unfinished"] = [{"task": "a key", "reason": "the budget is used up"}]
    assert write(facts, OfflineRequest("writer")) == "\n\n".join(
        [
            "## A fork",
            "A fork is a run. [p1]\n\nIt has a log. [p2]",
            "## An epoch",
            "An epoch is a number. [p3]",
            "No source answered this: an owner",
            "Not finished: a key: the budget is used up",
            BYLINE,
        ]
    )
