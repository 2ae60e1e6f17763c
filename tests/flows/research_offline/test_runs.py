"""Whole research runs of the built-in rule-based model, over bundled and local documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Answer, Leadhand, RunStatus
from leadhand.flows.research.answer import MORE_SOURCES

GARDEN = """# The garden

## Pond

The pond is 1.2 metres deep. Two frogs and a newt live in it. Its pump uses 45 W and costs about 118 euros a year.
"""
TEICH = "# Der Garten\n\nDer Teich ist 1,2 Meter tief. Im Winter friert er zu.\n"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "garden.md").write_text(GARDEN)
    (folder / "garten.md").write_text(TEICH)
    return folder


def research(home: Path, question: str, **options: Any) -> Answer:
    return Leadhand(offline=True, home=home, **options).research_sync(question)


def test_leadhand_says_from_its_documentation_how_it_recovers_after_a_crash(tmp_path: Path) -> None:
    question = "How does Leadhand recover after a crash?"
    answer = research(tmp_path, question)

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert answer.text.startswith("After a crash, Leadhand rebuilds the state of the run from its log")
    assert "rule-based model (offline, no LLM)" in answer.text
    assert "[2]" not in answer.text
    (source,) = answer.sources
    assert source["url"] == "leadhand:docs/how-to/resume-a-run.md"
    assert [(todo["content"], todo["status"]) for todo in answer.document["todos"]] == [(question, "completed")]
    assert [each["path"] for each in answer.document["artifacts"]] == ["memory/leadhand-recover-crash.md"]


def test_local_documents_answer_each_part_and_what_they_do_not_hold_is_a_gap(tmp_path: Path, documents: Path) -> None:
    question = "How deep is the pond, what does its pump cost, and who wrote Hamlet?"
    answer = research(tmp_path, question, documents=documents)

    assert answer.status is RunStatus.PARTIAL
    assert "## How deep is the pond?\n\nThe pond is 1.2 metres deep. [1]" in answer.text
    assert "costs about 118 euros a year. [1]" in answer.text
    assert "## Who wrote Hamlet?\n\nNo source that was found answers this." in answer.text
    assert [source["url"] for source in answer.sources] == ["document:garden.md"]
    (gap,) = answer.gaps
    assert gap["reason"] == "no source that was found answers: Who wrote Hamlet?"


def test_a_question_in_another_language_is_answered_by_documents_in_it(tmp_path: Path, documents: Path) -> None:
    answer = research(tmp_path, "Wie tief ist der Teich?", documents=documents)

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert answer.text.startswith("Der Teich ist 1,2 Meter tief. [1]")


def test_a_question_that_no_document_answers_fails_with_the_reason(tmp_path: Path) -> None:
    answer = research(tmp_path, "Who is the king of France?")

    assert answer.status is RunStatus.FAILED
    assert answer.sources == []
    assert {gap["reason"] for gap in answer.gaps} == {"no source that was found answers: Who is the king of France?"}
    assert {gap["next_action"] for gap in answer.gaps} == {MORE_SOURCES}


@pytest.mark.parametrize(("question", "said"), [("hello", "rule-based model"), ("2+2", "2 + 2 = 4")])
def test_what_needs_no_source_takes_one_call_and_is_a_plain_answer(tmp_path: Path, question: str, said: str) -> None:
    answer = research(tmp_path, question)

    assert said in answer.text
    assert answer.status is RunStatus.SUCCEEDED
    assert answer.gaps == []
    assert answer.document["usage"]["requests"] == 1
