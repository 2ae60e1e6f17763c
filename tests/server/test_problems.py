"""Errors: every one is a problem document that says what is wrong and how to fix it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from server.conftest import OpenDoor, OpenServer
from server.doors import Door

from leadhand.core.errors import StoreError
from leadhand.core.errors.advice import ACTIONS, Advice
from leadhand.server.problems import LARGEST_BODY


def check_problem(response: httpx2.Response, status: int, code: str, path: str) -> dict[str, Any]:
    """A problem document with all its members; returned."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["type"], problem["status"], problem["code"]) == ("about:blank", status, code)
    assert problem["title"]
    assert problem["detail"]
    assert problem["how"]
    assert problem["instance"] == path
    return problem


@pytest.mark.parametrize("path", ["/nowhere", "/api/nowhere", "/api", "/api/runs/", "/api/runs/x/y/z", "/healthz/x"])
async def test_a_path_that_is_no_route_is_a_problem(api: Door, path: str) -> None:
    check_problem(await api.get(path), 404, "not_found", path)
    if path.startswith("/api/"):
        check_problem(await api.post(path, {}), 404, "not_found", path)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/api/runs", {"GET", "HEAD", "POST"}),
        ("PUT", "/api/runs/run_x", {"GET", "HEAD", "DELETE"}),
        ("GET", "/api/runs/run_x/cancel", {"POST"}),
        ("POST", "/healthz", {"GET", "HEAD"}),
        ("PATCH", "/api/session", {"GET", "HEAD", "POST", "DELETE"}),
        ("TRACE", "/api/tools", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_a_route_does_not_know_is_a_problem(
    api: Door, method: str, path: str, allow: set[str]
) -> None:
    response = await api.http.request(method, path)

    check_problem(response, 405, "method_not_allowed", path)
    assert {each.strip() for each in response.headers["allow"].split(",")} == allow


async def test_every_fault_of_a_body_is_named(api: Door) -> None:
    response = await api.post("/api/runs", {"limits": {"max_steps": 0, "timeout": "x"}, "reqest": "x"})

    problem = check_problem(response, 422, "invalid", "/api/runs")
    wheres = {error["where"] for error in problem["errors"]}
    assert wheres == {"body.request", "body.limits.max_steps", "body.limits.timeout", "body.reqest"}
    assert all(error["what"] and error["how"] for error in problem["errors"])


FAULTS: list[tuple[str, str, bytes | None, str]] = [
    ("GET", "/api/runs?since=yesterday", None, "query.since"),
    ("GET", "/api/runs?limit=x", None, "query.limit"),
    ("GET", "/api/runs?limit=0", None, "query.limit"),
    ("GET", "/api/runs?status=x", None, "query.status"),
    ("POST", "/api/runs", b"{", "body.1"),
    ("POST", "/api/runs", b"nul", "body.0"),
    ("POST", "/api/runs", b'{"request": "x"}{', "body.16"),
    ("POST", "/api/runs", b"", "body"),
    ("POST", "/api/runs", b"[]", "body"),
    ("POST", "/api/runs", b"{}", "body.request"),
    ("POST", "/api/runs", b'{"request": 5}', "body.request"),
    ("POST", "/api/runs", b'{"request": ""}', "body.request"),
    ("POST", "/api/runs", b'{"request": "x", "limit": {}}', "body.limit"),
    ("POST", "/api/runs", b'{"request": "x", "limits": {"budget": "x"}}', "body.limits.budget"),
    ("POST", "/api/runs", b'{"request": "x", "approve": "yes"}', "body.approve"),
]


@pytest.mark.parametrize(("method", "path", "body", "where"), FAULTS)
async def test_a_fault_of_a_request_is_one_line_with_a_fix_in_words_of_our_own(
    api: Door, method: str, path: str, body: bytes | None, where: str
) -> None:
    response = await api.http.request(method, path, content=body, headers={"content-type": "application/json"})

    problem = check_problem(response, 422, "invalid", path.partition("?")[0])
    assert [error["where"] for error in problem["errors"]] == [where]
    said = problem["detail"] + problem["how"]
    assert not [each for each in ("pydantic", "Value error", "should", "See /openapi.json", "\n") if each in said]


async def test_advice_names_routes_instead_of_commands(api: Door) -> None:
    how = (await api.get("/api/runs/run_x")).json()["how"]
    assert "GET /api/runs" in how
    assert "leadhand" not in how


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_is_a_command_and_a_route_that_exists(action: str, document: dict[str, Any]) -> None:
    names = {"run": "run_1", "approval": "1a", "flags": "--budget 2"}
    advice = Advice(f"Do this: {{{action}}}.", **names)
    assert "leadhand" in advice or action == "confirm"
    assert "leadhand" not in advice.http
    if route := re.search(r"(GET|POST|DELETE) (/api/\S+?)[.,]?( |$)", advice.http):
        method, path = route[1].lower(), route[2].replace("run_1", "{run_id}").replace("1a", "{approval_id}")
        assert method in document["paths"][path.replace("events/N", "events/{seq}")]


async def test_what_was_sent_is_not_sent_back(api: Door) -> None:
    """A body may hold a secret where none belongs; problems go to logs and screens."""
    response = await api.post("/api/session", {"key": 7, "kee": "lh_CANARY"})

    assert response.status_code == 422
    assert "CANARY" not in response.text


async def test_a_body_that_is_too_large_is_a_problem(api: Door) -> None:
    for path in ("/api/runs", "/api/session", "/api/runs/run_x/supply", "/api/tools/measure/call"):
        response = await api.post(path, {"request": "x" * LARGEST_BODY})
        check_problem(response, 413, "too_large", path)


async def test_a_body_in_pieces_is_cut_off_where_it_is_too_large(serve: OpenServer) -> None:
    """Nobody said how long it would be: it is counted while it comes."""
    served = await serve()

    async def long() -> AsyncIterator[bytes]:
        yield b'{"request": "'
        for _ in range(3 * LARGEST_BODY // 100_000):
            yield b"x" * 100_000
            await asyncio.sleep(0)

    response = await served.door.http.post("/api/runs", content=long(), headers={"content-type": "application/json"})

    check_problem(response, 413, "too_large", "/api/runs")
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_body_of_just_that_size_is_read(api: Door) -> None:
    body = b'{"request": "measure Paris"' + b" " * (LARGEST_BODY - 28) + b"}"
    assert len(body) == LARGEST_BODY

    response = await api.http.post("/api/runs", content=body, headers={"content-type": "application/json"})

    assert response.status_code == 202, response.text


async def test_a_defect_is_a_problem_that_gives_nothing_away(
    api: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("the CANARY is in the message")

    run_id = await api.started("measure Paris")
    await api.over(run_id)
    monkeypatch.setattr(api.runtime, "document", broken)

    response = await api.get(f"/api/runs/{run_id}")

    check_problem(response, 500, "internal", f"/api/runs/{run_id}")
    assert "CANARY" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_a_database_that_does_not_answer_is_a_problem(api: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: Any, **__: Any) -> None:
        raise StoreError("no answer", "Start it again.")

    monkeypatch.setattr(api.runtime.store, "runs", gone)

    problem = check_problem(await api.get("/api/runs"), 503, "store", "/api/runs")
    assert (problem["detail"], problem["how"]) == ("no answer", "Start it again.")


async def test_where_a_key_is_needed_what_is_not_there_is_still_a_problem(open_door: OpenDoor) -> None:
    from leadhand.server.app import Doors

    api = await open_door(doors=Doors(key_needed=True))
    check_problem(await api.get("/api/nowhere"), 404, "not_found", "/api/nowhere")
    check_problem(await api.get("/api/runs"), 401, "unauthorized", "/api/runs")
