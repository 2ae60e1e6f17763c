"""A text claims only actions that a result shows."""

import pytest

from leadhand.flows.action_claims import unshown_actions


@pytest.mark.parametrize(
    "claim",
    [
        "I have emailed",
        "I've already sent",
        "We just paid",
        "I booked",
        "has been refunded",
        "have been successfully deleted",
        "I canceled",
        "We’ve deployed",
    ],
)
def test_an_action_that_no_result_shows_is_found(claim: str) -> None:
    assert unshown_actions(f"Paris is sunny. {claim} it.", "weather_tool sunny in Paris") == [claim]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I have emailed Bob.", "send_message ok"),
        ("I've paid Bob 30 euros.", "pay_tool {'receipt': 12}"),
        ("The flight has been cancelled.", "status: Cancelled"),
        ("I have not sent anything, and I could not book a hotel.", ""),
        ("You paid 30 euros, and the museum sent an invoice.", ""),
        ("I checked both trains. Reserved seats cost 4 euros.", ""),
    ],
)
def test_an_action_that_a_result_shows_or_nobody_claims_is_kept(text: str, shown: str) -> None:
    assert unshown_actions(text, shown) == []
