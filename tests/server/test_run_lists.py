"""GET /api/runs: filters, pages and what a line says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from server.doors import Door

MIXED = "measure Oslo, measure Lyon"
"""A run that ends with a gap."""


async def listed(api: Door, **params: Any) -> list[str]:
    """The requests of the runs that a filter lets through, newest first."""
    response = await api.get("/api/runs", params=params)
    assert response.status_code == 200, response.text
    return [run["request"] for run in response.json()["runs"]]


async def test_runs_are_listed_newest_first_and_a_line_counts_what_was_done(api: Door) -> None:
    for request in ("measure Paris", MIXED):
        await api.over(await api.started(request))

    paris, lyon = reversed((await api.get("/api/runs")).json()["runs"])

    assert (paris["request"], paris["status"]) == ("measure Paris", "succeeded")
    assert (lyon["request"], lyon["status"]) == (MIXED, "partial")
    assert (lyon["subtasks"], lyon["completed"], lyon["failed"]) == (2, 1, 1)
    assert (lyon["owner"], lyon["orphan"], lyon["detached"]) == (None, False, True)
    assert lyon["requests"] > 0
    assert lyon["created_at"].endswith("Z")
    assert lyon["created_at"] <= lyon["finished_at"]
    assert lyon["last_seq"] == (await api.run(lyon["run_id"]))["last_seq"]


async def test_filters_on_status_text_and_questions(api: Door) -> None:
    waiting = await api.started("pay Ann")
    await api.asked(waiting)
    await api.over(await api.started(MIXED))
    await api.over(await api.started("measure Paris"))

    assert await listed(api, status="succeeded") == ["measure Paris"]
    assert await listed(api, status="waiting") == ["pay Ann"]
    assert await listed(api, asking=True) == ["pay Ann"]
    assert await listed(api, q="MEASURE") == ["measure Paris", MIXED]
    assert await listed(api, q="MEASURE", status="partial") == [MIXED]
    assert await listed(api, q="%") == await listed(api, q="_") == []
    assert await listed(api, status="cancelled") == []
    (line,) = (await api.get("/api/runs", params={"asking": True})).json()["runs"]
    assert line["asking"] == 1


async def test_runs_are_searched_in_answers_arguments_and_errors(api: Door) -> None:
    for request in ("measure Paris", MIXED):
        await api.over(await api.started(request))
    (line,) = (await api.get("/api/runs", params={"search": "oslo"})).json()["runs"]
    gap = (await api.run(line["run_id"]))["gaps"][0]["reason"]

    assert await listed(api, search=gap) == [MIXED]
    assert await listed(api, search="paris") == ["measure Paris"]
    assert await listed(api, search="paris oslo") == []
    assert await listed(api, search="measure", sort="created", ascending=True) == [
        "measure Paris",
        MIXED,
    ]
    assert await listed(api, flow="work-order", max_duration_s=3600, limit=1) == [MIXED]
    assert await listed(api, flow="report") == await listed(api, min_cost_usd=1) == []
    for wrong in ({"sort": "colour"}, {"search": "a\0"}, {"search": "a" * 201}, {"min_cost_usd": "much"}):
        assert (await api.get("/api/runs", params=wrong)).status_code == 422, wrong


@pytest.mark.parametrize("sort", ["created", "cost"])
async def test_pages_of_a_sorted_list_have_every_run_once(api: Door, sort: str) -> None:
    made = [f"measure place_{number}" for number in range(5)]
    for request in made:
        await api.over(await api.started(request))
    found: list[str] = []
    params: dict[str, Any] = {"sort": sort, "limit": 2}
    while params.get("cursor", "") is not None:
        page = (await api.get("/api/runs", params=params)).json()
        found += [run["request"] for run in page["runs"]]
        params["cursor"] = page["next_cursor"]
        if sort == "created":
            await api.started("measure something_newer")
    assert sorted(found) == made
    assert sort == "cost" or found == made[::-1]


async def test_runs_are_named_tagged_and_found_by_their_tags(api: Door) -> None:
    for number, tags in enumerate(({"team": "data", "env": "prod"}, {"team": "data"}, {})):
        body = {"request": f"measure place_{number}", "name": "Nightly" if tags else "", "tags": tags}
        run = (await api.post("/api/runs", body)).json()
        assert (run["name"], run["tags"]) == (body["name"], tags)
        await api.over(run["run_id"])

    assert await listed(api, tag="team=data") == ["measure place_1", "measure place_0"]
    assert await listed(api, tag=["team=data", "env=prod"]) == ["measure place_0"]
    assert await listed(api, tag="team=dat") == []
    line = (await api.get("/api/runs", params={"tag": "env=prod"})).json()["runs"][0]
    assert (line["name"], line["tags"]) == ("Nightly", {"team": "data", "env": "prod"})

    following = {"request": "measure Paris", "name": "Again", "tags": {"env": "test"}}
    run = (await api.post(f"/api/runs/{line['run_id']}/follow-up", following)).json()
    assert (run["name"], run["tags"]) == ("Again", {"team": "data", "env": "test"})


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"name": "a\nb"}, "name"),
        ({"name": "a\x1b[31mb"}, "name"),
        ({"tags": {"a": "b\tc"}}, "tags.a"),
        ({"tags": {"a": "b\u202ec"}}, "tags.a"),
        ({"name": "n" * 201}, "name"),
        ({"tags": {"a b": "x"}}, "tags.a b"),
        ({"tags": {"key": "x" * 257}}, "key"),
        ({"tags": {str(number): "" for number in range(33)}}, "32"),
    ],
)
async def test_a_name_and_tags_that_cannot_be_are_refused(api: Door, body: dict[str, Any], named: str) -> None:
    refused = await api.post("/api/runs", {"request": "measure Paris", **body})

    assert (refused.status_code, named in refused.json()["detail"]) == (422, True)
    assert refused.json()["how"]
    assert await listed(api) == []


async def test_filters_on_time(api: Door) -> None:
    first, second = [await api.run(await api.started(f"measure {place}")) for place in ("Paris", "Lyon")]
    between = datetime.fromisoformat(second["created_at"])
    elsewhere = (between + timedelta(hours=2)).isoformat().replace("+00:00", "+02:00")

    assert first["created_at"] < second["created_at"]
    assert await listed(api, since=between.isoformat()) == ["measure Lyon"]
    assert await listed(api, until=between.isoformat()) == ["measure Paris"]
    assert await listed(api, since=elsewhere) == ["measure Lyon"]


async def test_a_page_that_is_just_full_is_the_last(api: Door) -> None:
    for _ in range(2):
        await api.started("measure Paris")

    assert (await api.get("/api/runs", params={"limit": 2})).json()["next_cursor"] is None
    assert (await api.get("/api/runs", params={"limit": 1})).json()["next_cursor"] is not None


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"status": "done"}, 422),
        ({"limit": 0}, 422),
        ({"limit": 501}, 422),
        ({"since": "yesterday"}, 422),
        ({"since": "1763740000"}, 422),
        ({"since": "2026-11-21T17:00:00"}, 422),
        ({"q": "a\0b"}, 422),
        ({"cursor": "a\0b"}, 422),
        ({"q": "x" * 201}, 422),
        ({"cursor": "run_nobody"}, 404),
        ({"tag": "team"}, 422),
        ({"tag": "a b=c"}, 422),
        ({"tag": "a=\0"}, 422),
        ({"tag": ["a=b", "a=c"]}, 409),
    ],
)
async def test_a_filter_that_is_none_is_refused(api: Door, params: dict[str, Any], status: int) -> None:
    refused = await api.get("/api/runs", params=params)

    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"]
    assert refused.json()["how"]


@pytest.mark.parametrize("since", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_the_ends_of_time_are_times(api: Door, since: str) -> None:
    assert (await api.get("/api/runs", params={"since": since, "until": since})).status_code == 200
