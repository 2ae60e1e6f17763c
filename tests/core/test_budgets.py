"""No calls together exceed a ceiling, each is counted once, and a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.budget import Account, Budget
from leadhand.core.errors import BudgetRefused
from leadhand.core.limits import NOTHING, Ceiling, Limits, Money, Usage


def cents(number: int) -> Money:
    return Money(nanousd=number)


def most(number: int | None, scope: str = "") -> Ceiling:
    return Ceiling(nanousd=number, scope=scope)


def began(call: str, reserved: int, attempt: str = "a/a1", **more: Any) -> ev.ModelCallBegan:
    return ev.ModelCallBegan(attempt=attempt, call_id=call, model="fake", reserved=cents(reserved), **more)


def returned(call: str, used: int | None, attempt: str = "a/a1") -> ev.ModelCallReturned:
    usage = None if used is None else Usage(requests=0, nanousd=used)
    return ev.ModelCallReturned(attempt=attempt, call_id=call, model="fake", usage=usage)


def budget(number: int, *events: ev.AnyEvent) -> Budget:
    """The budget of a run with this ceiling, after these events, which fit it."""
    found = Budget(Account(most(number)))
    found.apply(events)
    return found


def refused(found: Budget, *events: ev.AnyEvent) -> BudgetRefused:
    """Return why the last of these events does not fit, which leaves the budget as it was."""
    before = (found.run, dict(found.scopes), dict(found.shared), dict(found.open))
    with pytest.raises(BudgetRefused) as error:
        found.apply(events)
    assert (found.run, found.scopes, found.shared, found.open) == before
    return error.value


def test_what_runs_counts_in_full_until_its_usage_is_known():
    found = budget(10, began("x", 6), began("y", 4))
    assert refused(found, began("z", 1)).may_fit
    found.apply([returned("x", 2), began("z", 4)])

    assert (found.run.spent, found.run.reserved) == (cents(2), cents(8))
    found.apply([returned("y", None), returned("x", 9), returned("z", 0)])
    assert (found.run.spent, found.run.reserved, found.open) == (cents(6), NOTHING, {})


def test_what_is_kept_for_the_answer_is_no_budget_of_others():
    found = budget(10, began("x", 6, kept=cents(4)))
    assert refused(found, began("y", 1, kept=cents(4))).may_fit
    found.apply([returned("x", 5)])

    assert not refused(found, began("y", 2, kept=cents(4))).may_fit, "it would wait for ever"
    found.apply([began("y", 5)])


def test_a_call_that_begins_again_may_have_been_made_before():
    found = budget(10, began("x", 3), began("x", 4), returned("x", 1))

    assert (found.run.spent, found.run.reserved) == (cents(4), NOTHING)


@pytest.mark.parametrize(
    "end", [ev.AttemptReturned(attempt="a/a1", lost=True), ev.AttemptParked(attempt="a/a1", open_calls=())]
)
def test_what_an_attempt_leaves_open_counts_in_full_and_the_calls_of_others_go_on(end: ev.AnyEvent):
    found = budget(10, began("x", 3), began("x", 4, attempt="b/a1"), end)
    assert (found.run.spent, found.run.reserved) == (cents(3), cents(4))
    found.apply([returned("x", 1), returned("x", 1, attempt="b/a1")])

    assert (found.run.spent, found.run.reserved) == (cents(4), NOTHING)


def test_a_step_and_those_above_it_have_ceilings_of_which_the_lowest_holds_and_each_counts_once():
    found = budget(100, began("x", 3, within=(most(9, "a"), most(5, "a"), most(8, "b"))))
    assert refused(found, began("y", 3, within=(most(9, "a"),))).scope == "a"
    found.apply([returned("x", 1), began("y", 4, within=(most(None, "a"),))])

    assert (found.scopes["a"].spent, found.scopes["a"].reserved) == (cents(1), cents(4))
    assert (found.scopes["b"].spent, found.scopes["b"].reserved) == (cents(1), NOTHING)


def test_a_budget_of_many_runs_holds_for_all_of_them_with_the_ceiling_of_each_call():
    one = budget(100)
    other = Budget(Account(most(100)), one.shared)
    one.apply([began("x", 3, shared=(most(5, "day"),))])
    error = refused(other, began("x", 3, shared=(most(5, "day"),)))
    assert (error.scope, error.shared, error.may_fit) == ("day", True, True)
    other.apply([began("x", 3, shared=(most(6, "day"),))])
    one.apply([returned("x", 1)])

    assert (one.shared["day"].spent, one.shared["day"].reserved) == (cents(1), cents(3))


def test_what_is_written_together_is_reserved_together_or_not_at_all():
    found = budget(10, began("x", 3, within=(most(9, "a"),), shared=(most(9, "day"),)))
    more = began("y", 3, within=(most(9, "a"),), shared=(most(9, "day"),))

    assert refused(found, returned("x", 2), more, began("z", 6)).scope == ""


def test_a_person_changes_the_ceiling_while_calls_are_open():
    found = budget(10, began("x", 8))
    found.apply([ev.RunChanged(limits=Limits(budget=2e-08), by="ann"), began("y", 12)])
    found.apply([ev.RunChanged(limits=Limits(budget=5e-09), by="ann")])

    assert not refused(found, began("z", 6)).may_fit
    assert found.run == Account(most(5), NOTHING, cents(20))


def test_an_unknown_price_is_counted_as_it_was_reserved_and_known_to_be_unknown():
    assert Usage(input_tokens=3, output_tokens=4).used(Money(nanousd=9)) == Money(1, 7, 9)
    assert Usage().nanousd is None
