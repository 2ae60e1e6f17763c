"""What the rule-based model reads in a question: its parts, and whether it needs research."""

from __future__ import annotations

import pytest

from leadhand.flows.research.questions import (
    NOTHING_ASKED,
    answer_at_once,
    content,
    names_nothing,
    needs_no_source,
    parts,
    refers_back,
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does Leadhand recover?", ["How does Leadhand recover?"]),
        ("Heat pumps in old houses", ["Heat pumps in old houses"]),
        (
            "How do I brew coffee, and how hot should the water be?",
            ["How do I brew coffee?", "How hot should the water be?"],
        ),
        ("1. What is a run?\n2. What is a fork?", ["What is a run?", "What is a fork?"]),
        ("I renovate my house. How much does a heat pump cost?", ["How much does a heat pump cost?"]),
        ("Book me a flight. How long does it take?", ["Book me a flight.", "How long does it take?"]),
        (
            "What is the difference between a worker and a subtask?",
            ["What is a worker?", "What is a subtask?", "What is the difference between a worker and a subtask?"],
        ),
        (
            "Compare ground-source and air-source heat pumps.",
            [
                "What is known about ground-source heat pumps?",
                "What is known about air-source heat pumps?",
                "Compare ground-source and air-source heat pumps.",
            ],
        ),
    ],
)
def test_a_question_has_parts(question: str, expected: list[str]) -> None:
    assert parts(question) == expected


def test_no_part_of_a_long_question_is_lost() -> None:
    question = " ".join(f"What is word{n}?" for n in range(40))
    found = parts(question)
    assert len(found) == 12
    assert content(" ".join(found)) == content(question)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("2+2", "2 + 2 = 4"),
        ("What is 7 x 6?", "7 * 6 = 42"),
        ("1.5 - 2", "1.5 - 2 = -0.5"),
        ("1/3", "1 / 3 ≈ 0.333333333"),
        ("5 / 0", "5 / 0 has no result: the divisor is zero."),
        ("hello", NOTHING_ASKED),
        ("Good morning! How are you?", NOTHING_ASKED),
        ("", NOTHING_ASKED),
        ("???", NOTHING_ASKED),
        ("Is 5 > 3?", NOTHING_ASKED),
    ],
)
def test_what_needs_no_research_is_answered_at_once(question: str, answer: str) -> None:
    assert answer_at_once(question) == answer


@pytest.mark.parametrize("question", ["What is a run?", "2+2 apples", "Does it work?", "привет"])
def test_anything_else_is_researched(question: str) -> None:
    assert answer_at_once(question) == ""


def test_what_is_asked_twice_is_one_part() -> None:
    assert parts("What is a fork? " * 100) == ["What is a fork?"]


def test_a_question_that_names_nothing_refers_to_what_was_said_before() -> None:
    assert refers_back("And how much does it cost?")
    assert refers_back("Why?")
    assert not refers_back("How much does a heat pump cost?")


@pytest.mark.parametrize("question", ["How deep is it?", "How many euros does it cost?", "What is it?"])
def test_a_question_about_something_that_was_not_said_names_nothing(question: str) -> None:
    assert names_nothing(question)
    assert not names_nothing(question.replace(" it", " a heat pump"))


@pytest.mark.parametrize(
    ("question", "answer", "plain"),
    [
        ("hello", "Hello! How can I help you?", True),
        ("Bonjour !", "Bonjour !", True),
        ("2+2", "The result is **4**.", True),
        ("What is 1500*2?", "1500 times 2 is 3,000.", True),
        ("2+2", "2 + 2 = 5", False),
        ("2+2", "2 + 2 = 14", False),
        ("20+30", "20 + 30 = 50, and a heat pump costs 18,000 euros.", False),
        ("hello", "Hello! Your revenue was 5 million dollars in 2023.", False),
        ("Who is the king of France?", "Nobody is.", False),
    ],
)
def test_only_a_greeting_without_facts_and_a_sum_with_its_result_need_no_source(
    question: str, answer: str, plain: bool
) -> None:
    assert needs_no_source(question, answer) is plain
