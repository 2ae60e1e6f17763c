"""Every request is a line of the server's log: what was asked for, what came of it, how long it took, and who asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from logged import SECRET, log_to, request

from leadhand.server.logs import AccessLog, reset_logging


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    yield
    reset_logging()


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/hello/{name}")
    async def hello(name: str, request: Request) -> str:
        request.state.principal = "ann"
        return name

    @app.get("/refuse")
    async def refuse() -> None:
        raise HTTPException(403)

    @app.get("/break")
    async def break_() -> None:
        raise ValueError(SECRET)

    @app.get("/healthz")
    async def healthz() -> str:
        return "ok"

    return app


async def ask(app: Any, path: str, query: bytes = b"", told: list[Any] | None = None) -> None:
    def tell(*what: Any) -> None:
        if told is not None:
            told.append(what)

    await request(AccessLog(app, tell), path, query)


async def test_a_request_is_told_by_method_path_status_time_and_who_asked() -> None:
    log, told = log_to(), list[Any]()
    await ask(application(), "/hello/paris", b"key=" + SECRET.encode(), told)
    line = log.line
    assert isinstance(line.pop("ms"), float)
    del line["timestamp"]
    assert line == {
        "level": "info",
        "logger": "leadhand.access",
        "event": "request",
        "method": "GET",
        "path": "/hello/paris",
        "status": 200,
        "principal": "ann",
    }
    ((method, route, status, seconds),) = told
    assert (method, route, status) == ("GET", "/hello/{name}", 200)
    assert 0 < seconds < 60


@pytest.mark.parametrize(("path", "status"), [("/refuse", 403), ("/nowhere", 404)])
async def test_what_is_refused_is_told_too_and_nobody_is_named_who_is_not_known(path: str, status: int) -> None:
    log = log_to()
    await ask(application(), path)
    assert log.line["status"] == status
    assert "principal" not in log.line


async def test_what_breaks_is_a_500_and_goes_on_to_the_server() -> None:
    log = log_to()

    async def broken(*_: Any) -> None:
        raise ValueError(SECRET)

    with pytest.raises(ValueError, match="canary"):
        await ask(broken, "/break")
    assert log.line["status"] == 500


async def test_a_client_that_gave_up_before_there_was_an_answer_is_a_499() -> None:
    log = log_to()

    async def cancelled(*_: Any) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ask(cancelled, "/slow")
    assert log.line["status"] == 499


async def test_probes_are_told_only_to_those_who_debug() -> None:
    log, told = log_to(), list[Any]()
    await ask(application(), "/healthz", told=told)
    assert log.text == ""
    assert len(told) == 1
    log = log_to(LEADHAND_LOG_LEVEL="debug")
    await ask(application(), "/healthz")
    assert (log.line["path"], log.line["level"]) == ("/healthz", "debug")


async def test_a_path_cannot_write_lines_of_its_own() -> None:
    log = log_to(LEADHAND_LOG_FORMAT="text")
    await ask(application(), "/hello/\n2026 [error] broken \x1b[2J")
    assert len(log.text.splitlines()) == 1
    assert "/hello/%0A2026%20%5Berror%5D%20broken%20%1B%5B2J" in log.text


async def test_other_traffic_passes_through() -> None:
    log, seen = log_to(), list[str]()

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["type"])

    await AccessLog(app)({"type": "lifespan"}, _nothing, _nothing)
    assert seen == ["lifespan"]
    assert log.text == ""


async def _nothing(*_: Any) -> Any:
    """Neither receives nor sends."""


async def test_a_real_server_logs_requests_and_what_broke_and_never_a_query() -> None:
    """Even with uvicorn's own access log switched on."""
    log = log_to()
    server = uvicorn.Server(uvicorn.Config(AccessLog(application()), port=0, log_config=None))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
        await asyncio.sleep(0.001)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        async with client.get(f"/hello/paris?key={SECRET}") as answered:
            assert answered.status == 200
        async with client.get("/break") as answered:
            assert answered.status == 500
    server.should_exit = True
    await serving

    requests = [line for line in log.lines if line["logger"] == "leadhand.access"]
    assert [(line["path"], line["status"]) for line in requests] == [("/hello/paris", 200), ("/break", 500)]
    (broke,) = [line for line in log.lines if line["level"] == "error"]
    assert broke["logger"] == "uvicorn.error"
    assert "ValueError: [redacted]" in broke["exception"]
    assert not [line for line in log.lines if line["logger"] == "uvicorn.access"]
    assert SECRET not in log.text
