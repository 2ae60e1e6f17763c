"""Money is counted exactly and rounded against us; a sum fits its ceiling or it does not."""

from __future__ import annotations

from leadhand.core.limits import Money, Usage


def test_an_unknown_price_is_counted_as_it_was_reserved_and_known_to_be_unknown():
    assert Usage(input_tokens=3, output_tokens=4).used(Money(nanousd=9)) == Money(1, 7, 9)
    assert Usage().nanousd is None
