"""The stages of a report: their order, and what is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import refused

from leadhand import UsageError
from leadhand.flows.report.stages import Stage, stages_of


def stages(*agents: Any, review: bool = True) -> list[Stage]:
    return [*stages_of([Stage.model_validate(each) for each in agents], review=review)]


def names(*agents: Any, review: bool = True) -> list[str]:
    return [stage.name for stage in stages(*agents, review=review)]


CHECK = {"name": "fact-checker", "instructions": "Check the facts."}
BUILT_IN = ["planner", "researcher", "writer", "reviewer"]


def test_the_built_in_stages_run_in_order():
    assert names() == BUILT_IN
    assert names(review=False) == BUILT_IN[:3]


def test_a_stage_stands_after_the_writer_unless_it_says_otherwise():
    assert names(CHECK) == ["planner", "researcher", "writer", "fact-checker", "reviewer"]
    assert names({**CHECK, "after": "researcher"}) == ["planner", "researcher", "fact-checker", "writer", "reviewer"]
    assert names({**CHECK, "after": "reviewer"})[-1] == "fact-checker"


def test_stages_at_one_place_keep_the_order_of_the_list():
    a, b, c = ({"name": name, "instructions": "…"} for name in "abc")
    assert names(a, b, c)[3:6] == ["a", "b", "c"]
    assert names({**a, "after": "b"}, b, c)[3:6] == ["b", "a", "c"]


def test_a_stage_can_be_placed_by_one_that_is_switched_off():
    assert names({**CHECK, "after": "reviewer"}, review=False) == [*BUILT_IN[:3], "fact-checker"]


def test_a_stage_is_complete():
    by_name = {stage.name: stage for stage in stages(CHECK, {"name": "writer", "instructions": "Write briefly."})}
    assert by_name["fact-checker"].judges
    assert by_name["reviewer"].judges
    assert by_name["writer"].instructions == "Write briefly."
    assert by_name["writer"].gives == ("draft",)


@pytest.mark.parametrize(
    ("agents", "named"),
    [
        ([{"name": "reviwer"}], ["reviwer", "Did you mean reviewer"]),
        ([{**CHECK, "after": "writter"}], ["'writter'", "Did you mean writer"]),
        ([{**CHECK, "after": "fact-checker"}], ["fact-checker"]),
        ([CHECK, CHECK], ["fact-checker"]),
        ([{"name": "writer", "after": "reviewer"}], ["writer"]),
        ([{"name": "planner", "agent": "X", "gives": ["research"]}], ["planner", "X", "research"]),
        ([{**CHECK, "gives": ["plan"]}], ["plan", "feedback, draft, research"]),
        ([{"name": "review", "instructions": "…"}], ["review", "Did you mean reviewer"]),
        ([{**CHECK, "after": "a"}, {"name": "a", "instructions": "…", "after": "fact-checker"}], ["fact-checker"]),
    ],
)
def test_stages_that_do_not_fit_together_are_refused(agents: list[Any], named: list[str]):
    with refused(UsageError, *named):
        names(*agents)
