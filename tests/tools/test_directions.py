"""The directions tool tells a router's way between the two places that were meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden import check_golden, joined
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import ToolContext
from leadhand.tools.directions import MAX_STEPS, directions_tool
from leadhand.tools.routers import phrase

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


def osrm() -> dict[str, Any]:
    """A reply as router.project-osrm.org gives it with steps=true."""
    steps = [
        {
            "name": "Quai des Tuileries",
            "ref": "",
            "distance": 3200.4,
            "duration": 420.2,
            "maneuver": {"type": "depart", "modifier": "right", "location": [2.33, 48.86]},
        },
        {
            "name": "Autoroute du Soleil",
            "ref": "A 6",
            "distance": 15000.0,
            "duration": 1210.0,
            "maneuver": {"type": "on ramp", "modifier": "slight right"},
        },
        {"name": "", "distance": 0, "duration": 0, "maneuver": {"type": "arrive"}},
    ]
    whole = {"distance": 18200.4, "duration": 1630.2}
    return {"code": "Ok", "routes": [{**whole, "legs": [{**whole, "summary": "A 6", "steps": steps}]}]}


MANEUVERS: list[tuple[str, str, dict[str, Any]]] = [
    ("depart", "", {"road": "Rue de Rivoli"}),
    ("depart", "left", {}),
    ("turn", "left", {"road": "Quai Voltaire"}),
    ("turn", "slight right", {}),
    ("turn", "sharp left", {}),
    ("turn", "uturn", {}),
    ("turn", "straight", {"road": "A 6"}),
    ("new name", "straight", {"road": "A 6a"}),
    ("continue", "left", {"road": "A 6"}),
    ("merge", "slight left", {"road": "A 6"}),
    ("on ramp", "right", {"road": "A 6"}),
    ("off ramp", "slight right", {}),
    ("fork", "slight left", {}),
    ("fork", "straight", {}),
    ("end of road", "right", {"road": "D 7"}),
    ("roundabout", "right", {"leave_by": 2, "road": "D 7"}),
    ("rotary", "right", {"leave_by": 12}),
    ("roundabout", "right", {}),
    ("roundabout turn", "left", {}),
    ("exit roundabout", "right", {}),
    ("arrive", "right", {}),
    ("arrive", "", {}),
]


async def failure_of(context: ToolContext, mode: Any = "drive") -> Any:
    with pytest.raises(ToolError) as caught:
        await directions_tool(HERE, THERE, mode, context=context)
    return caught.value.failure


async def test_the_golden_file_keeps_what_the_summaries_say(
    web: Any, context: ToolContext, sample: ToolContext
) -> None:
    told: list[tuple[str, Any]] = []
    web.says("valhalla", valhalla())
    web.says("valhalla", valhalla(has_toll=True, has_ferry=True))
    for name, mode in (("valhalla", "drive"), ("tolls and ferries", "walk")):
        told.append((name, await directions_tool(f"Louvre ({HERE})", f"Orly ({THERE})", mode, context=context)))
    web.script["valhalla"] = []
    web.says("valhalla", status=503)
    web.says("osrm", osrm())
    told.append(("osrm", await directions_tool(HERE, THERE, context=context)))
    told.append(("sample data", await directions_tool("the Louvre", "Orly airport", context=sample)))
    texts = [(name, "\n".join([found.summary or "", *(each.title for each in found.sources)])) for name, found in told]
    phrases = [
        (" ".join(map(str, (kind, modifier, *more.values()))), phrase(kind, modifier, **more))
        for kind, modifier, more in MANEUVERS
    ]
    texts.append(("maneuvers of osrm", "\n".join(f"{code}: {said}" for code, said in phrases)))
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
    assert len(sources) == 2
    assert "maps.local:8002" in sources[1].title


async def test_a_long_way_keeps_its_first_steps_and_the_arrival(web: Any, context: ToolContext) -> None:
    steps = [{"instruction": f"Step {n}.", "length": 1.0, "time": 60.0} for n in range(200)]
    web.says("valhalla", valhalla(steps))
    raw = (await directions_tool(HERE, THERE, context=context)).raw
    assert len(raw["steps"]) == MAX_STEPS
    assert raw["steps_left_out"] == 200 - MAX_STEPS
    assert (raw["steps"][0]["instruction"], raw["steps"][-1]["instruction"]) == ("Step 0", "Step 199")


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_osrm_is_asked_when_valhalla_is_out_of_order(web: Any, context: ToolContext, status: int) -> None:
    web.says("valhalla", status=status)
    web.says("osrm", osrm())
    found = await directions_tool(HERE, THERE, context=context)
    assert found.raw["distance_km"] == 18.2
    first, second, _ = (step["instruction"] for step in found.raw["steps"])
    assert "Quai des Tuileries" in first
    assert "Autoroute du Soleil / A 6" in second
    assert "router.project-osrm.org" in found.sources[1].title


@pytest.mark.parametrize(
    ("mode", "base"),
    [
        ("drive", "https://router.project-osrm.org"),
        ("walk", "https://routing.openstreetmap.de/routed-foot"),
        ("bicycle", "https://routing.openstreetmap.de/routed-bike"),
    ],
)
async def test_the_car_only_demo_is_never_asked_for_a_walk(
    web: Any, context: ToolContext, mode: Any, base: str
) -> None:
    web.says("valhalla", status=502)
    web.says("osrm", osrm())
    await directions_tool(HERE, THERE, mode, context=context)
    assert web.asked[-1][1] == f"{base}/route/v1/driving/2.337600,48.860600;2.365200,48.726200"


@pytest.mark.parametrize(
    ("code", "type"), [(154, "too_far"), (170, "no_route"), (171, "no_route"), (442, "no_route"), (130, "http_400")]
)
async def test_what_valhalla_cannot_route_is_a_wrong_question(
    web: Any, context: ToolContext, code: int, type: str
) -> None:
    said = {"error_code": code, "error": "Path distance exceeds", "status_code": 400, "status": "Bad Request"}
    web.says("valhalla", said, status=400)
    failure = await failure_of(context, "walk")
    assert (failure.class_, failure.type) == (FailureClass.INVALID, type)
    assert "Path distance exceeds" in failure.message
    assert web.services_asked() == ["valhalla"]


@pytest.mark.parametrize(
    ("status", "code", "type"),
    [
        (400, "NoRoute", "no_route"),
        (400, "NoSegment", "no_route"),
        (200, "NoRoute", "no_route"),
        (400, "TooBig", "too_far"),
        (400, "InvalidQuery", "http_400"),
    ],
)
async def test_what_osrm_cannot_route_is_a_wrong_question(
    web: Any, context: ToolContext, status: int, code: str, type: str
) -> None:
    web.says("valhalla", status=500)
    web.says("osrm", {"code": code, "message": "Impossible route between points"}, status=status)
    failure = await failure_of(context)
    assert (failure.class_, failure.type) == (FailureClass.INVALID, type)


@pytest.mark.parametrize("body", [None, {"code": "Ok", "routes": []}, {"routes": [{}]}, ["Ok"]])
async def test_an_osrm_body_without_a_route_is_transient(web: Any, context: ToolContext, body: Any) -> None:
    web.says("valhalla", status=403)
    web.says("osrm", body)
    failure = await failure_of(context)
    assert (failure.class_, failure.type) == (FailureClass.TRANSIENT, "bad_body")


async def test_a_valhalla_body_without_a_trip_goes_to_osrm(web: Any, context: ToolContext) -> None:
    web.says("valhalla", {"alternates": []})
    web.says("osrm", osrm())
    assert "OSRM" in (await directions_tool(HERE, THERE, context=context)).sources[1].title


@pytest.mark.parametrize(("origin", "destination"), [("Paris", " PARIS "), (HERE, f"Louvre ({HERE})")])
async def test_the_same_place_twice_is_refused(web: Any, context: ToolContext, origin: str, destination: str) -> None:
    with pytest.raises(ToolError) as caught:
        await directions_tool(origin, destination, context=context)
    assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.INVALID, "same_place")
    assert web.asked == []


@pytest.mark.parametrize(("mode", "minutes"), [("drive", 18.1), ("walk", 180.8), ("bicycle", 60.3)])
async def test_the_sample_estimate_follows_the_mode(sample: ToolContext, mode: Any, minutes: float) -> None:
    found = await directions_tool("Louvre", "Orly airport", mode, context=sample)
    assert found.raw["duration_min"] == pytest.approx(minutes, abs=0.5)


@given(st.text(), st.text(), st.text(), st.none() | st.integers())
def test_no_code_whatever_breaks_the_phrasing(kind: str, modifier: str, road: str, leave_by: int | None) -> None:
    assert phrase(kind, modifier, road=road, leave_by=leave_by)
