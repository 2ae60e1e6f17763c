"""What holds for every route of the OpenAPI document: methods, query parameters, media types, repeated requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door
from server.teams import Office

from leadhand.server.app import Doors

NAMED = {
    "call_id": "wo-001.0/t0",
    "webhook_id": "wh_1",
    "key_id": "key_1",
    "approval_id": "1a2b3c4d",
    "name": "measure",
    "seq": "1",
    "path": "notes.md",
    "digest": f"sha256:{'0' * 64}",
}
PAGE = '<!doctype html><script src="/main.js"></script>'
Paths = dict[str, dict[str, Any]]
"""The operations of each path by their methods."""


@pytest.fixture
def paths(document: dict[str, Any]) -> Paths:
    return document["paths"]


def with_method(paths: Paths, method: str) -> list[str]:
    return [path for path, methods in paths.items() if method in methods]


def operations(paths: Paths) -> list[tuple[str, str]]:
    return [(method, path) for path, methods in paths.items() for method in methods]


def filled(path: str, run_id: str) -> str:
    return path.format(run_id=run_id, **NAMED)


@pytest.fixture
async def run_id(api: Door) -> str:
    """A run that is over, with an approval of another run open."""
    over = await api.started("measure Paris")
    await api.over(over)
    return over


async def test_every_get_has_a_head(api: Door, run_id: str, paths: Paths) -> None:
    for path in {*with_method(paths, "get")} - {"/api/events/stream"}:  # which never ends
        url = filled(path, run_id)
        got, head = await api.get(url), await api.http.head(url)
        assert (head.status_code, head.content) == (got.status_code, b""), path
        assert head.headers["content-type"] == got.headers["content-type"], path


async def test_the_head_of_a_stream_ends(api: Door, office: Office) -> None:
    waiting = await api.started("measure Rome")
    of_a_run = (f"/api/runs/{waiting}/{path}?after={2**60}" for path in ("events/stream", "view/stream"))
    for url in ("/api/events/stream", *of_a_run):
        async with asyncio.timeout(10):
            head = await api.http.head(url)
        assert (head.status_code, head.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert api.service.feeds.clients == 0


async def test_every_path_names_its_methods(api: Door, run_id: str, paths: Paths) -> None:
    for path, methods in paths.items():
        refused = await api.http.request("TRACE", filled(path, run_id))
        assert refused.status_code == 405, path
        known = {*methods, "head"} if "get" in methods else set(methods)
        assert {each.strip().lower() for each in refused.headers["allow"].split(",")} == known, path


async def test_every_route_refuses_an_unknown_query_parameter_and_names_those_it_knows(
    api: Door, run_id: str, paths: Paths
) -> None:
    for method, path in operations(paths):
        refused = await api.http.request(method.upper(), filled(path, run_id), params={"colour": "red"})
        assert refused.status_code == 422, (method, path)
        problem = refused.json()
        assert "'colour'" in problem["detail"]
        known = [each["name"] for each in paths[path][method].get("parameters", ()) if each["in"] == "query"]
        assert all(name in problem["how"] for name in known), (method, path)
    assert await api.run(run_id), "nothing was deleted"


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {},
    ],
)
async def test_every_body_is_json_in_utf_8(api: Door, run_id: str, headers: dict[str, str], paths: Paths) -> None:
    for method, path in operations(paths):
        if "requestBody" not in paths[path][method]:
            continue
        refused = await api.http.request(method.upper(), filled(path, run_id), content=b"{}", headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type"), (method, path)


async def test_two_servers_of_one_database_start_one_run_for_one_key(open_door: OpenDoor, api: Door) -> None:
    doors = api, await open_door()
    runs = await asyncio.gather(*(door.started("measure Paris", headers={"idempotency-key": "k"}) for door in doors))
    assert len({*runs}) == 1


async def test_the_document_asks_for_a_key_only_where_one_is_needed(open_door: OpenDoor, tmp_path: Path) -> None:
    for needed in (False, True):
        api = await open_door(doors=Doors(key_needed=needed), home=tmp_path / str(needed))
        document = (await api.get("/openapi.json")).json()
        assert ({} in document["paths"]["/api/runs"]["get"]["security"]) is not needed


# --- other refusals ---------------------------------------------------------------------------------------------------


async def test_a_request_with_two_lengths_is_refused(api: Door) -> None:
    both = {"content-length": "2", "transfer-encoding": "chunked", "content-type": "application/json"}
    refused = await api.http.post("/api/runs", content=b"{}", headers=both)

    assert (refused.status_code, refused.headers["connection"]) == (400, "close")


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("retry", {"subtasks": ["nonsense key"]}, 404),
        ("retry", {"subtasks": [""]}, 422),
        ("skip", {"subtask": "nonsense key"}, 404),
        ("supply", {"subtask": "wo-001.0", "summary": ""}, 422),
        ("supply", {"subtask": "wo-001.9", "summary": "x"}, 404),
        ("fork", {"at": 0}, 422),
        ("fork", {"at": 99_999}, 409),
    ],
)
async def test_what_no_run_could_do_is_no_conflict(
    api: Door, run_id: str, verb: str, body: dict[str, Any], status: int
) -> None:
    refused = await api.post(f"/api/runs/{run_id}/{verb}", body)

    assert refused.status_code == status, refused.text


async def test_logins_count_against_the_requests_of_a_key(open_door: OpenDoor) -> None:
    from leadhand.server.rates import Allowed

    api = await open_door(doors=Doors(allowed=Allowed(requests_a_minute=3)))
    key = (await api.key())["authorization"].removeprefix("Bearer ")
    statuses = [(await api.post("/api/session", {"key": key})).status_code for _ in range(4)]

    assert statuses == [200, 200, 200, 429]
