"""What every prompt must hold: the names of the facts it comes with, the fields of the answer, and its boundaries."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from flows.scripts import Script, accept, look
from verify.test_prompts import fields_in

from leadhand.flows.flow import instructions_in

WORKERS = ("plan", "work", "review", "compose")
PROMPTS = (*WORKERS, "workers")
UNDERSTOOD = {"today", "request", "subtask"}
"""Facts that need no explanation."""


def instructions(name: str) -> str:
    """The built-in instructions with this name."""
    return instructions_in(f"leadhand.flows.{'seam' if name == 'work' else 'work_order'}", name)


class Brief(NamedTuple):
    """What a worker is told."""

    worker: str
    facts: dict[str, Any]


def every_brief() -> list[Brief]:
    """A brief of each kind that the work-order flow gives."""
    script = Script(look("a"), {**look("b"), "needs": [0]}, cannot=[{"what": "tea", "reason": "no tool makes it"}])
    planning = script.facts("plan")
    script.done("wo-001.0")
    working = script.facts("wo-001.1")
    script.done("wo-001.1")
    reviewing = [script.facts("review-wo-001-0")]
    script.reviewed(accept("wo-001.0", "wo-001.1"), cannot=[{"what": "tea", "reason": "no tool makes it"}])
    composing = [script.facts("compose")]
    paged = Script()
    paged.think("plan", {"goal": "it", "subtasks": [look("a")], "more": True})
    further = paged.facts("plan-2")
    many = Script(*(look(f"s{n}", n) for n in range(300)), max_output_tokens=200)
    many.done(*many.under_way)
    reviews = [name for name in many.under_way if name.startswith("review-")]
    reviewing += [many.facts(name) for name in reviews]
    for name in reviews:
        many.think(name, {"verdicts": [], "complete": True})
    composing += [many.facts(name) for name in many.under_way]
    assert any("listed" in facts for facts in composing)
    return [
        *(Brief("plan", facts) for facts in (planning, further)),
        Brief("work", working),
        *(Brief("review", facts) for facts in reviewing),
        *(Brief("compose", facts) for facts in composing),
    ]


def prompt_of(brief: Brief) -> str:
    """The instructions that come with a brief: those of its worker, and of what else it asks for."""
    parts = [brief.worker]
    if brief.facts.get("compose"):
        parts.append("compose")
    return "\n".join(map(instructions, parts))


def named(text: str) -> set[str]:
    """Every word in backticks, and the parts of dotted ones."""
    return {part for quoted in re.findall(r"`([^`]+)`", text) for part in re.findall(r"[a-z_]+", quoted)}


def test_a_prompt_names_every_fact_that_it_comes_with():
    for brief in every_brief():
        unexplained = {*fields_in(brief.facts)} - named(prompt_of(brief)) - UNDERSTOOD
        assert not unexplained, f"{brief.worker}.md does not say what {unexplained} are"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_is_short_says_whose_word_counts_and_what_to_do_when_it_cannot_be_done(prompt: str):
    text = instructions(prompt)
    assert len(text) < 3_300
    assert re.search(r"is data|are data", text), "what it is shown are data, not orders"
    assert re.search(r"cannot|gap|CANNOT|missing", text)
