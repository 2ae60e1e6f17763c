"""OSRM's codes become sentences a driver can follow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.tools.routers import phrase


@pytest.mark.parametrize(
    ("kind", "modifier", "more", "told"),
    [
        ("depart", "", {"road": "Rue de Rivoli"}, "Start on Rue de Rivoli"),
        ("depart", "left", {}, "Start"),
        ("turn", "left", {"road": "Quai Voltaire"}, "Turn left onto Quai Voltaire"),
        ("turn", "slight right", {}, "Turn slightly right"),
        ("turn", "sharp left", {}, "Turn sharply left"),
        ("turn", "uturn", {}, "Make a U-turn"),
        ("turn", "straight", {"road": "A 6"}, "Go straight on onto A 6"),
        ("new name", "straight", {"road": "A 6a"}, "Continue onto A 6a"),
        ("continue", "left", {"road": "A 6"}, "Turn left onto A 6"),
        ("merge", "slight left", {"road": "A 6"}, "Merge left onto A 6"),
        ("on ramp", "right", {"road": "A 6"}, "Take the ramp on the right onto A 6"),
        ("off ramp", "slight right", {}, "Take the exit on the right"),
        ("fork", "slight left", {}, "Keep left at the fork"),
        ("fork", "straight", {}, "Keep straight on at the fork"),
        ("end of road", "right", {"road": "D 7"}, "At the end of the road turn right onto D 7"),
        ("roundabout", "right", {"leave_by": 2, "road": "D 7"}, "At the roundabout take the second exit onto D 7"),
        ("rotary", "right", {"leave_by": 12}, "At the roundabout take exit 12"),
        ("roundabout", "right", {}, "At the roundabout take the exit"),
        ("roundabout turn", "left", {}, "At the roundabout turn left"),
        ("exit roundabout", "right", {}, "Leave the roundabout"),
        ("arrive", "right", {}, "Arrive at the destination, on the right"),
        ("arrive", "", {}, "Arrive at the destination"),
    ],
)
def test_a_maneuver_is_told_in_words(kind: str, modifier: str, more: dict[str, Any], told: str) -> None:
    assert phrase(kind, modifier, **more) == told


def test_a_maneuver_nobody_has_heard_of_is_a_turn() -> None:
    assert phrase("teleport", "left", road="X") == "Turn left onto X"


@given(st.text(), st.text(), st.text(), st.none() | st.integers())
def test_no_code_whatever_breaks_the_phrasing(kind: str, modifier: str, road: str, leave_by: int | None) -> None:
    assert phrase(kind, modifier, road=road, leave_by=leave_by)
