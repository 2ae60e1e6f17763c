"""What a lead is asked to fill in constrains what is exact in its run, and is short."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from core.histories import History, definition

from flows.scripts import Script, accept, drop, free, judged, look, replan, retry
from leadhand.core.worker import Worker
from leadhand.flows.work_order.roles import ROLES

MOST_BYTES = 1_500
"""Of a schema, without the names of tools and subtasks."""
CANNOT = {"what": "fly", "reason": "no tool can"}


class Declared(Script):
    """A run whose project has a worker, or with other changes."""

    def __init__(self, *subtasks: dict[str, Any], **changes: Any) -> None:
        what = definition(max_requests=None, max_tokens=None, budget=None)
        poet = Worker(name="poet", instructions="Write.", declared=True)
        History.__init__(self, what.evolve(**{"workers": (*what.workers, poet), **changes}))
        self.decide_all()
        if subtasks:
            self.think("plan", {"goal": "all of it", "subtasks": list(subtasks)})


def schema(script: Script, step: str) -> dict[str, Any]:
    """The schema that a model is shown."""
    found = script.policy.details(script.state, step).schema
    assert found is not None
    assert found["type"] == "object", "a function's parameters have to be an object"
    assert not {"anyOf", "oneOf", "allOf"} & found.keys(), "some services refuse a choice of objects as parameters"
    written = json.dumps(found, separators=(",", ":"))
    assert len(written) < MOST_BYTES
    assert '"title"' not in written
    assert '"description"' not in written
    return found


def fits(schema: dict[str, Any], value: Any) -> bool:
    return jsonschema_rs.is_valid(schema, value)


def plan(*subtasks: Any, **more: Any) -> dict[str, Any]:
    return {"goal": "all", "subtasks": list(subtasks), **more}


@pytest.mark.parametrize(
    "value",
    [
        plan(look(), free("think"), {"name": "a poem", "worker": "poet", "args": {"task": "Write."}}),
        plan(
            look("a"),
            look("b", needs=[0], args={"n": {"$result": {"subtask": "0"}}}, expected_output={"type": "object"}),
        ),
        plan(look(), cannot=[CANNOT], more=True),
        {"cannot": [CANNOT]},
        {"answer": "Hello!"},
        {"question": "Where?"},
    ],
)
def test_a_plan_that_names_what_there_is_fits(value: Any):
    assert fits(schema(Declared(), "plan"), value)


@pytest.mark.parametrize(
    "subtask",
    [
        {"name": "a", "tool": "fly"},
        {"name": "a", "tool": ""},
        {"name": "a", "worker": "painter"},
        {"tool": "look", "args": {"n": 1}},
        {"name": "a", "tool": "look", "args": [1]},
        look(needs=[-1]),
        look(needs=["the first"]),
        look(needs=[1_000]),
    ],
)
def test_a_subtask_that_names_what_there_is_not_does_not_fit(subtask: Any):
    assert not fits(schema(Declared(), "plan"), plan(subtask))


def test_a_page_has_no_more_subtasks_than_fit_and_the_next_one_begins_after_it():
    script = Script(max_output_tokens=400)
    first = schema(script, "plan")
    assert fits(first, plan(*map(look, map(str, range(10)))))
    assert not fits(first, plan(*map(look, map(str, range(11)))))
    assert not fits(first, {"cannot": [{"what": "fly"}]})

    script.think("plan", plan(look("a"), look("b", 2), more=True))
    (name,) = (each for each in script.under_way if each.startswith("plan"))
    second = schema(script, name)
    assert fits(second, plan(look("c", 3, needs=[0, 11])))
    assert not fits(second, plan(look("c", 3, needs=[12])))
    assert not fits(second, {"cannot": [CANNOT]})


def test_without_tools_and_workers_a_subtask_names_none():
    found = schema(Declared(workers=ROLES, tools=()), "plan")
    assert fits(found, plan(free("think")))
    assert not fits(found, plan(look()))
    assert not fits(found, plan({"name": "a", "worker": "poet"}))


def test_a_review_judges_its_own_subtasks_and_orders_what_there_is():
    script = Declared(judged("a", 1), judged("b", 2))
    script.done(*script.under_way)
    found = schema(script, "review-wo-001-0")
    for good in (accept("wo-001.0", "wo-001.1"), retry("wo-001.0"), drop("wo-001.1"), [replan("wo-001.0", **look())]):
        assert fits(found, {"verdicts": good, "complete": True, "missing": [free("c")], "answer": "All is well."})
    bad = [accept("wo-001.2"), accept("0"), [{"subtask": "wo-001.0"}], [{"subtask": "wo-001.0", "verdict": "fine"}]]
    bad += [[replan("wo-001.0", name="a", tool="fly")], accept(*["wo-001.0"] * 3)]
    assert not any(fits(found, {"verdicts": each}) for each in bad)
    assert fits(found, {"complete": True}), "nothing may need a verdict"
    assert not fits(found, {"verdicts": [], "missing": [{"name": "a", "tool": "fly"}]})


def test_a_review_of_a_part_is_asked_for_verdicts_alone():
    script = Script(*(judged(f"s{number}", number) for number in range(30)))
    script.done(*script.under_way)
    assert [*schema(script, "review-wo-001-0")["properties"]] == ["verdicts", "complete", "missing", "cannot"]
    assert [*schema(script, "review-wo-001-1")["properties"]] == ["verdicts"]
