"""The directions tool tells a router's way between the two places that were meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden import check_golden, joined

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.travel.directions import MAX_STEPS, directions_tool

HERE, THERE = "48.8606,2.3376", "48.7262,2.3652"


def valhalla(maneuvers: list[dict[str, Any]] | None = None, **summary: Any) -> dict[str, Any]:
    """A reply as valhalla1.openstreetmap.de gives it."""
    steps = maneuvers or [
        {"instruction": said, "street_names": streets, "length": length, "time": time}
        for said, streets, length, time in (
            ("Drive south on Place du Carrousel.", ["Place du Carrousel"], 0.21, 33.1),
            ("Turn left onto Quai François Mitterrand.", ["Quai François Mitterrand"], 3.1, 340.0),
            ("Continue onto A 6a.", ["A 6a", "E 5"], 14.9, 1300.0),
            ("You have arrived at your destination.", [], 0.0, 0.0),
        )
    ]
    told = {"has_toll": False, "has_highway": True, "has_ferry": False, "time": 1673.1, "length": 18.21, **summary}
    return {"trip": {"legs": [{"maneuvers": steps, "summary": told}], "summary": told, "units": "kilometers"}}


async def test_the_golden_file_keeps_what_the_summaries_say(
    web: Any, context: ToolContext, sample: ToolContext
) -> None:
    told: list[tuple[str, Any]] = []
    web.says("valhalla", valhalla())
    web.says("valhalla", valhalla(has_toll=True, has_ferry=True))
    for name, mode in (("valhalla", "drive"), ("tolls and ferries", "walk")):
        told.append((name, await directions_tool(f"Louvre ({HERE})", f"Orly ({THERE})", mode, context=context)))
    told.append(("sample data", await directions_tool("Louvre", "Orly airport", context=sample)))
    texts = [(name, "\n".join([found.summary or "", *(each.title for each in found.sources)])) for name, found in told]
    check_golden(Path(__file__).parent / "golden" / "directions.txt", joined(texts))


async def test_the_raw_data_has_both_ends_all_steps_and_units(web: Any, context: ToolContext) -> None:
    web.says("valhalla", valhalla())
    raw = (await directions_tool(f"Louvre ({HERE})", THERE, context=context)).raw
    assert (raw["origin"]["name"], raw["origin"]["latitude"]) == ("Louvre", 48.8606)
    assert (raw["mode"], raw["distance_km"], raw["duration_min"]) == ("drive", 18.2, 27.9)
    step = valhalla()["trip"]["legs"][0]["maneuvers"][1]
    instruction = step["instruction"].removesuffix(".")
    assert raw["steps"][1] == {"instruction": instruction, "distance_km": 3.1, "duration_min": 5.7}
    assert raw["units"]["distance_km"] == "km"


@pytest.mark.parametrize(("mode", "costing"), [("drive", "auto"), ("walk", "pedestrian"), ("bicycle", "bicycle")])
async def test_valhalla_is_asked_in_its_own_words(web: Any, context: ToolContext, mode: Any, costing: str) -> None:
    web.says("valhalla", valhalla())
    await directions_tool(HERE, THERE, mode, context=context)
    ((_, url, body),) = web.asked
    assert url == "https://valhalla1.openstreetmap.de/route"
    assert body["locations"] == [{"lat": 48.8606, "lon": 2.3376}, {"lat": 48.7262, "lon": 2.3652}]
    assert (body["costing"], body["units"]) == (costing, "kilometers")


async def test_a_server_of_ones_own_is_not_passed_off_as_the_public_one(
    web: Any, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_VALHALLA_URL", "http://maps.local:8002")
    web.says("valhalla", valhalla())
    sources = (await directions_tool(HERE, THERE, context=context)).sources
    assert "maps.local:8002" in sources[1].title


async def test_a_long_way_keeps_its_first_steps_and_the_arrival(web: Any, context: ToolContext) -> None:
    steps = [{"instruction": f"Step {n}.", "length": 1.0, "time": 60.0} for n in range(200)]
    web.says("valhalla", valhalla(steps))
    raw = (await directions_tool(HERE, THERE, context=context)).raw
    assert len(raw["steps"]) == MAX_STEPS
    assert raw["steps_left_out"] == 200 - MAX_STEPS
    assert (raw["steps"][0]["instruction"], raw["steps"][-1]["instruction"]) == ("Step 0", "Step 199")


@pytest.mark.parametrize(
    ("status", "body", "class_", "type"),
    [
        (400, {"error_code": 154, "error": "Path distance exceeds"}, FailureClass.INVALID, "too_far"),
        *((400, {"error_code": code}, FailureClass.INVALID, "no_route") for code in (170, 171, 441, 442)),
        (400, {"error_code": 130, "error": "Failed to parse"}, FailureClass.INVALID, "http_400"),
        (403, None, FailureClass.UNAVAILABLE, "http_403"),
        (503, None, FailureClass.TRANSIENT, "http_503"),
        (200, {"alternates": []}, FailureClass.TRANSIENT, "bad_body"),
    ],
)
async def test_each_failure_of_valhalla_has_its_class(
    web: Any, context: ToolContext, status: int, body: Any, class_: FailureClass, type: str
) -> None:
    web.says("valhalla", body, status=status)
    with pytest.raises(ToolError) as caught:
        await directions_tool(HERE, THERE, "walk", context=context)
    assert (caught.value.failure.class_, caught.value.failure.type) == (class_, type)
    assert (body or {}).get("error", "") in caught.value.failure.message


@pytest.mark.parametrize(("origin", "destination"), [(f"Home ({HERE})", HERE), (HERE, f"Louvre ({HERE})")])
async def test_the_same_place_twice_is_refused(web: Any, context: ToolContext, origin: str, destination: str) -> None:
    with pytest.raises(ToolError) as caught:
        await directions_tool(origin, destination, context=context)
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.INVALID, "same_place")
    assert web.asked == []
