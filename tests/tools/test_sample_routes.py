"""Routes of the sample service stay on land."""

from __future__ import annotations

import pytest

from leadhand.core.errors import ToolError
from leadhand.ports import ToolContext
from leadhand.tools.directions import directions_tool

ACROSS_A_SEA = "Reykjavik-Oslo Palermo-Rome Dublin-London Tokyo-Los_Angeles Honolulu-Boston"
BY_LAND = "Dublin-Belfast London-Paris Malmo-Copenhagen Mexico_City-Toronto Cairo-Lagos"


@pytest.mark.parametrize("ends", f"{ACROSS_A_SEA} {BY_LAND}".split())
async def test_there_is_no_route_across_a_sea_but_over_land_bridges_and_tunnels(sample: ToolContext, ends: str) -> None:
    origin, destination = ends.replace("_", " ").split("-")
    if ends in BY_LAND:
        assert (await directions_tool(origin, destination, context=sample)).sample
        return
    with pytest.raises(ToolError) as caught:
        await directions_tool(origin, destination, context=sample)
    assert caught.value.failure.type == "no_route"
