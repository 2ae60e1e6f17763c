"""An order is reviewed shard by shard once its subtasks are done, and a shard again if its results change."""

from __future__ import annotations

from typing import Any

import pytest

from flows.scripts import Script, accept, drop, judged, retry
from leadhand.core import events as ev


def order_of(count: int, *failed: int) -> tuple[Script, list[str]]:
    """An order in which the subtasks at ``failed`` have failed and the rest is done."""
    script = Script(*(judged(f"s{number}", number) for number in range(count)))
    keys = script.under_way
    for number in failed:
        script.failed(keys[number])
    script.done(*(key for number, key in enumerate(keys) if number not in failed))
    return script, keys


def covers(script: Script) -> dict[str, list[str]]:
    """The subtasks of every review that was assigned, by its id."""
    reviews = (each.step for each in script.state.steps.values() if each.step.judges)
    return {each.step_id: list(each.input["covers"]) for each in reviews}


def verdicts(script: Script, review: str) -> dict[str, Any]:
    """A review that accepts what is completed and drops the rest."""
    shown = script.facts(review)["subtasks"]
    done = [each["subtask"] for each in shown if each["status"] == "completed"]
    failed = [each["subtask"] for each in shown if each["status"] != "completed"]
    return {"verdicts": [*accept(*done), *drop(*failed)], "complete": not failed}


@pytest.mark.slow
@pytest.mark.parametrize("returned", [False, True], ids=["while it runs", "after it"])
@pytest.mark.parametrize(
    "request_",
    [
        ev.StepRequested(what="supply", by="Ann", steps=("wo-001.30",), summary="it looks fine"),
        ev.StepRequested(what="skip", by="Ann", steps=("wo-001.30",), reason="nobody reads it"),
    ],
    ids=["supplied", "skipped"],
)
def test_a_shard_is_reviewed_again_after_a_person_settles_one_of_its_subtasks(request_: Any, *, returned: bool):
    script, keys = order_of(60, 30)
    first = covers(script)["review-wo-001-1"]
    assert keys[30] in first
    if returned:
        script.think(
            "review-wo-001-1", {"verdicts": [*retry(keys[30]), *drop(*(key for key in first if key != keys[30]))]}
        )
    script.write(request_)
    script.decide_all()

    run = script.policy
    for name in [name for name in script.under_way if name.startswith("review-") and run.wants(script.state, name)]:
        script.think(name, verdicts(script, name))
    order = script.state.orders["wo-001"]
    assert order.review is not None
    assert [each.subtask for each in order.review.verdicts] == keys, "each is judged once"
    assert len(covers(script)) == 5, "only the shard whose evidence changed, and the order as a whole, is judged again"
    assert {key for key in keys if not script.state.steps[key].accepted} == (
        {keys[30]} if getattr(request_, "what", "") == "skip" else set()
    )
