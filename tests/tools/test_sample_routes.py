"""Routes of the sample service stay on land."""

from __future__ import annotations

import pytest

from leadhand.core.errors import ToolError
from leadhand.ports import ToolContext
from leadhand.tools.directions import directions_tool


@pytest.mark.parametrize(
    ("origin", "destination"),
    [
        ("Reykjavik", "Oslo"),
        ("Palermo", "Rome"),
        ("Dublin", "London"),
        ("Tokyo", "Los Angeles"),
        ("Honolulu", "Boston"),
    ],
)
async def test_there_is_no_route_across_a_sea(sample: ToolContext, origin: str, destination: str) -> None:
    with pytest.raises(ToolError) as caught:
        await directions_tool(origin, destination, context=sample)
    assert caught.value.failure.type == "no_route"


@pytest.mark.parametrize(
    ("origin", "destination"),
    [
        ("Dublin", "Belfast"),
        ("London", "Paris"),
        ("Malmo", "Copenhagen"),
        ("Mexico City", "Toronto"),
        ("Cairo", "Lagos"),
    ],
)
async def test_land_bridges_and_tunnels_connect(sample: ToolContext, origin: str, destination: str) -> None:
    assert (await directions_tool(origin, destination, context=sample)).sample
