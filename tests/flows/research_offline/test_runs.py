"""Research of the built-in rule-based model: whole runs over bundled and local documents, and single rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Answer, RunStatus
from leadhand.core.tool import ToolSpec
from leadhand.flows.offline.rule import Call, OfflineRequest
from leadhand.flows.report.offline import BYLINE
from leadhand.flows.research.answer import MORE_SOURCES
from leadhand.flows.research.offline import NOTHING_ASKED, UNANSWERED, lead, subagent

POND = "The pond of the garden is 1.2 metres deep in the middle."
NEWT = "Two frogs and a newt live in the water between the lilies."
TEICH = "Der Teich in unserem Garten ist 1,2 Meter tief."


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "garden.md").write_text(f"# The garden\n\n## Pond\n\n{POND} {NEWT}\n")
    (folder / "garten.md").write_text(f"# Der Garten\n\n{TEICH}\n")
    return folder


def research(home: Path, question: str, documents: Path | None = None, **options: Any) -> Answer:
    return leadhand_of(model="offline", home=home, documents=documents).research_sync(question, **options)


def todos(answer: Answer) -> list[tuple[str, str]]:
    return [(todo["content"], todo["status"]) for todo in answer.document["todos"]]


def test_a_question_about_leadhand_is_answered_from_its_documentation(tmp_path: Path) -> None:
    question = "How does Leadhand recover after a crash?"
    answer = research(tmp_path, question)

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert answer.text.endswith(BYLINE)
    assert answer.sources
    assert all(source.url.startswith("leadhand:docs/") for source in answer.sources)
    assert todos(answer) == [(question, "completed")]
    assert len(answer.document["artifacts"]) == 1


def test_each_question_is_researched_and_what_no_document_holds_is_a_gap(tmp_path: Path, documents: Path) -> None:
    answer = research(
        tmp_path, "How deep is the pond [p9]? Where are the newt and the frogs? Who wrote Hamlet?", documents
    )

    assert answer.status is RunStatus.PARTIAL
    pond, newt, hamlet = re.split(r"^## ", answer.text, flags=re.MULTILINE)[1:]
    assert pond.startswith("How deep is the pond (p9)?"), "the question cites something"
    assert (f"{POND} [1]" in pond, f"{NEWT} [1]" in newt, UNANSWERED in hamlet) == (True, True, True)
    assert [source.url for source in answer.sources] == ["document:garden.md"]
    assert [status for _, status in todos(answer)] == ["completed", "completed", "pending"]
    (gap,) = answer.gaps
    assert gap.reason.endswith("Who wrote Hamlet?")


def test_a_question_in_another_language_is_answered_by_documents_in_it(tmp_path: Path, documents: Path) -> None:
    answer = research(tmp_path, "Wie tief ist der Teich?", documents)

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert answer.text.startswith(f"{TEICH} [1]")


def test_a_question_that_no_document_answers_fails_with_the_reason(tmp_path: Path) -> None:
    answer = research(tmp_path, "Who is the king of France?")

    assert (answer.status, answer.sources) == (RunStatus.FAILED, ())
    assert all(gap.reason.endswith("Who is the king of France?") for gap in answer.gaps)
    assert {gap.next_action for gap in answer.gaps} == {MORE_SOURCES}


def test_what_asks_nothing_takes_one_call(tmp_path: Path) -> None:
    answer = research(tmp_path, "hello")

    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, NOTHING_ASKED, ())
    assert answer.document["usage"]["requests"] == 1


async def test_a_follow_up_is_about_what_was_asked_before(tmp_path: Path, documents: Path) -> None:
    async with leadhand_of(model="offline", home=tmp_path, documents=documents) as opened:
        first = await opened.research("Is there a newt in the pond?")
        second = await (await opened.follow_up(first.run_id, "And how deep is it?")).answer()
    assert POND in second.text


@pytest.mark.parametrize(("most", "status"), [(1, RunStatus.PARTIAL), (0, RunStatus.FAILED)])
def test_no_more_subagents_are_run_than_allowed(tmp_path: Path, documents: Path, most: int, status: RunStatus) -> None:
    question = "How deep is the pond? Where are the newt and the frogs?"
    answer = research(tmp_path, question, documents, max_subagents=most)

    assert answer.status is status
    assert len([each for each in answer.document["steps"] if each["worker"] == "subagent"]) == most
    assert "exhausted" in {gap.class_ for gap in answer.gaps}


# --- single rules ----------------------------------------------------------------------------------------------------


def tools(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name=name, description="", parameters={}) for name in names)


def test_a_long_question_makes_short_todos_and_tasks() -> None:
    question = f"What is a fork? {'Where is the wall of ' + 'stones ' * 1_500}?"
    offered = tools("subagent_run", "todo_list_write", "parallel_tool_call")
    reply = lead({"question": question, "max_subagents": 40}, OfflineRequest("lead", offered))
    assert isinstance(reply, Call)
    first, *runs = [each["args"] for each in reply.args["calls"]]
    assert max(len(each["task"]["prompt"]) for each in runs) < 20_000
    assert max(len(each["task"]["description"]) for each in runs) <= 2_000
    assert max(len(todo["content"]) for todo in first["todos"]) <= 200


def test_a_subagent_without_a_tool_for_searches_gives_up() -> None:
    task = {"task_name": "x", "prompt": "What is a fork?", "description": "", "tool_budget": 3}
    reply = subagent({"task": task}, OfflineRequest("subagent", tools("t")))
    assert isinstance(reply, str)
    assert reply.startswith("CANNOT: ")
