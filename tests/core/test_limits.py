"""Money is counted exactly and rounded against us; a sum fits its ceiling or it does not."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.invariants import total
from leadhand.core.approval import args_hash
from leadhand.core.conversation import AssistantMessage, SystemMessage, UserMessage
from leadhand.core.limits import NANO, Ceiling, Limits, Money, Usage, nanousd, usd
from leadhand.ports.models import input_bound

_AMOUNTS = st.builds(Money, requests=st.integers(0, 99), tokens=st.integers(0, 10**9), nanousd=st.integers(0, 10**12))


@given(st.decimals(0, 10_000, places=12))
def test_dollars_are_rounded_up_to_whole_nanodollars(dollars: Decimal):
    assert dollars * NANO <= nanousd(dollars) < dollars * NANO + 1


@given(st.integers(0, 10**15))
def test_nanodollars_survive_the_way_through_dollars(nano: int):
    assert abs(nanousd(usd(nano)) - nano) <= 1


@given(_AMOUNTS, _AMOUNTS)
def test_amounts_add_up_in_any_order(one: Money, other: Money):
    assert total(one, other) == total(other, one)


@given(_AMOUNTS, _AMOUNTS)
def test_a_sum_fits_if_and_only_if_every_part_does(amount: Money, ceiling: Money):
    parts = [(amount.requests, ceiling.requests), (amount.tokens, ceiling.tokens), (amount.nanousd, ceiling.nanousd)]

    assert amount.fits(Ceiling(*ceiling.row)) == all(part <= most for part, most in parts)
    assert amount.fits(Ceiling())


def test_limits_have_defaults_money_included():
    limits = Limits()

    assert limits.budget_nanousd == 1 * NANO
    assert limits.timeout_s
    assert all((limits.max_steps, limits.max_workers, limits.max_turns, limits.attempt_timeout_s))


@pytest.mark.parametrize("limit", [{"max_steps": 0}, {"max_workers": 0}, {"timeout_s": 0}, {"budget_nanousd": -1}])
def test_limits_that_cannot_be_are_refused(limit: dict[str, int]):
    with pytest.raises(ValidationError):
        Limits.model_validate(limit)


def test_an_unknown_price_is_counted_as_it_was_reserved_and_known_to_be_unknown():
    assert Usage(input_tokens=3, output_tokens=4).used(Money(nanousd=9)) == Money(1, 7, 9)
    assert Usage().nanousd is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_bound_of_a_call_is_never_below_the_bytes_that_are_sent(one: str, other: str):
    messages = (SystemMessage(text=one), UserMessage(text=other), AssistantMessage(text=one))

    assert input_bound(messages, (), None) >= 2 * len(one.encode()) + len(other.encode()) + 3 * 16


@given(st.dictionaries(st.text(max_size=5), st.integers()))
def test_the_hash_of_arguments_does_not_depend_on_their_order(args: dict[str, int]):
    assert args_hash(args) == args_hash(dict(reversed(args.items())))
    assert args_hash(args) != args_hash({**args, "one more": 1})


def test_the_size_of_a_message_is_found_once_and_again_for_a_changed_copy() -> None:
    message = UserMessage(text="short")
    alone = input_bound((message,), (), None)
    assert input_bound((message, message), (), None) == 2 * alone
    longer = message.model_copy(update={"text": "much longer"})
    assert input_bound((longer,), (), None) == alone + len("much longer") - len("short")
    assert message == UserMessage(text="short")
    assert message.model_dump() == {"role": "user", "text": "short"}
