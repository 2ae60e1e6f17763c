"""The real client, against a real server on this machine: polite, sparing, and never surprised."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from leadhand.app.runtime.clock import SystemClock
from leadhand.core.errors import FailureClass, ToolError
from leadhand.tools.services import SERVICES, OfflineWeb
from leadhand.tools.web_client import AiohttpWeb

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """A server with one handler, to be set by the test, and the requests it has seen."""

    def __init__(self) -> None:
        self.handler: Handler | None = None
        self.seen: list[web.Request] = []
        self.reached = asyncio.Event()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self.server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self.server.make_url("/search"))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        self.reached.set()
        assert self.handler is not None
        return await self.handler(request)

    def answers(self, said: Any = None, /, **response: Any) -> None:
        """Answers every request with ``said`` as JSON, or with what ``response`` describes."""

        async def handle(_: web.Request) -> web.StreamResponse:
            return web.Response(**response) if response else web.json_response(said)

        self.handler = handle


async def hang(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits that long")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    async with made.server:
        yield made


@pytest.fixture
async def client(store: Any) -> AsyncIterator[AiohttpWeb]:
    async with aclosing(AiohttpWeb(store, SystemClock(), total_timeout=5)) as made:
        yield made


async def failure_of(call: Awaitable[Any]) -> Any:
    with pytest.raises(ToolError) as caught:
        await call
    return caught.value.failure


async def test_a_get_carries_its_parameters_and_who_we_are(client: AiohttpWeb, server: Server) -> None:
    server.answers([{"lat": "48.86"}])
    reply = await client.get("nominatim", server.url, {"q": "Île d'Yeu", "limit": 5, "lat": 46.7})
    assert (reply.status, reply.body, reply.text) == (200, [{"lat": "48.86"}], "")
    (request,) = server.seen
    assert dict(request.query) == {"q": "Île d'Yeu", "limit": "5", "lat": "46.7"}
    assert request.headers["User-Agent"].startswith("leadhand/")
    assert "github.com/leadhand/leadhand" in request.headers["User-Agent"]


@pytest.mark.parametrize(
    ("body", "charset"),
    [*((body, "utf-8") for body in (b"<html>", b"", b"[" * 100_000)), (b"f\xc3\xbcr", "klingon")],
    ids=["html", "none", "deep", "unknown charset"],
)
async def test_a_body_that_is_no_json_is_text(client: AiohttpWeb, server: Server, body: bytes, charset: str) -> None:
    server.answers(status=200, body=body, headers={"Content-Type": f"text/html; charset={charset}"})
    reply = await client.get("nominatim", server.url, {})
    assert reply.body is None
    assert reply.text == body.decode("utf-8", "replace")


async def test_a_server_that_never_answers_is_a_timeout(store: Any, server: Server) -> None:
    server.handler = hang
    async with aclosing(AiohttpWeb(store, SystemClock(), total_timeout=0.1)) as client:
        failure = await failure_of(client.get("nominatim", server.url, {}))
    assert (failure.class_, failure.type) == (FailureClass.TRANSIENT, "timeout")
    assert "Nominatim" in failure.message


@pytest.mark.parametrize(
    ("url", "class_", "type"),
    [
        ("http://127.0.0.1:{}/route", FailureClass.TRANSIENT, "connection"),
        ("valhalla.local/route", FailureClass.UNAVAILABLE, "refused_url"),
    ],
)
async def test_an_address_where_nobody_answers_names_the_setting_to_correct(
    client: AiohttpWeb, store: Any, url: str, class_: FailureClass, type: str
) -> None:
    failure = await failure_of(client.get("valhalla", url.format(unused_port()), {}))
    assert (failure.class_, failure.type) == (class_, type)
    assert "LEADHAND_VALHALLA_URL" in failure.next_action
    assert store.kept == {}


async def test_a_connection_cut_in_the_answer_is_a_lost_connection(client: AiohttpWeb, server: Server) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"[1, 2")
        assert request.transport is not None
        request.transport.close()
        return response

    server.handler = cut
    failure = await failure_of(client.get("nominatim", server.url, {}))
    assert (failure.class_, failure.type) == (FailureClass.TRANSIENT, "connection")


async def test_eleven_megabytes_are_refused(client: AiohttpWeb, server: Server) -> None:
    server.answers(status=200, body=b" " * 11 * 2**20)
    failure = await failure_of(client.get("nominatim", server.url, {}))
    assert (failure.class_, failure.type) == (FailureClass.UNAVAILABLE, "body_too_large")


async def test_a_kept_answer_asks_neither_gate_nor_service(client: AiohttpWeb, store: Any, server: Server) -> None:
    server.answers([1])
    first = await client.get("nominatim", server.url, {"q": "Paris", "limit": 5})
    again = await client.get("nominatim", server.url, {"limit": 5, "q": "Paris"})
    assert first.body == again.body == [1]
    assert len(server.seen) == 1
    await client.get("nominatim", server.url, {"q": "Lyon"})
    await client.post("valhalla", server.url, {})
    await client.get("open-meteo", server.url, {})  # it asks for no pause
    assert store.passed == [("nominatim", 1), ("nominatim", 1), ("valhalla", 1)]
    assert store.seconds == [SERVICES[name].kept_s for name in ("nominatim", "nominatim", "valhalla", "open-meteo")]


@pytest.mark.parametrize(("status", "text"), [(500, "{}"), (404, "{}"), (200, "<html>")])
async def test_only_good_answers_are_kept(
    client: AiohttpWeb, store: Any, server: Server, status: int, text: str
) -> None:
    server.answers(status=status, text=text)
    replies = [await client.get("nominatim", server.url, {}) for _ in range(2)]
    assert [(reply.status, "content-type" in reply.headers) for reply in replies] == [(status, True)] * 2
    assert (len(server.seen), store.kept) == (2, {})


async def test_the_clock_waits_at_the_gate(store: Any, server: Server) -> None:
    class Clock(SystemClock):
        async def sleep(self, seconds: float) -> None:
            assert (seconds, server.seen) == (7.5, [])

    server.answers([])
    store.wait = 7.5
    async with aclosing(AiohttpWeb(store, Clock())) as client:
        assert (await client.get("nominatim", server.url, {})).status == 200


async def test_a_service_without_rules_is_asked_plainly(client: AiohttpWeb, store: Any, server: Server) -> None:
    server.answers({"hits": []})
    assert (await client.get("search", server.url, {})).body == {"hits": []}
    assert (store.passed, store.kept) == ([], {})


async def test_the_same_question_at_the_same_time_is_one_request(
    client: AiohttpWeb, store: Any, server: Server
) -> None:
    go = asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.json_response({"n": len(server.seen)})

    server.handler = wait
    calls = [asyncio.create_task(client.get("nominatim", server.url, {"q": "Paris"})) for _ in range(50)]
    await server.reached.wait()
    calls[1].cancel()
    go.set()
    first, cancelled, *others = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert {json.dumps(reply.body) for reply in (first, *others)} == {'{"n": 1}'}
    assert store.passed == [("nominatim", 1)]


async def test_when_the_first_caller_is_cancelled_the_next_one_asks(client: AiohttpWeb, server: Server) -> None:
    server.handler = hang
    first, second = (asyncio.create_task(client.get("nominatim", server.url, {})) for _ in range(2))
    await server.reached.wait()
    server.answers([2])
    first.cancel()
    assert (await second).body == [2]
    assert (first.cancelled(), len(server.seen)) == (True, 2)


async def test_services_are_reached_through_the_proxy_of_the_environment(
    client: AiohttpWeb, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", str(server.server.make_url("/")))
    server.answers([1])
    assert (await client.get("nominatim", "http://nominatim.test/search", {"q": "Paris"})).body == [1]
    assert server.seen[0].headers["Host"] == "nominatim.test"


@pytest.mark.parametrize(("key", "type"), [("", ""), ("secret", "redirected")])
async def test_a_key_does_not_follow_a_redirect_to_another_host(
    store: Any, server: Server, key: str, type: str
) -> None:
    async def redirect(request: web.Request) -> web.StreamResponse:
        if request.path == "/there":
            return web.json_response({"key": request.headers.get("X-Subscription-Token", "")})
        raise web.HTTPFound(f"http://localhost:{server.server.port}/there")

    server.handler = redirect
    async with aclosing(AiohttpWeb(store, SystemClock(), environment={"BRAVE_API_KEY": key})) as client:
        asked = client.get("brave", f"http://127.0.0.1:{server.server.port}/search", {})
        if key:
            assert (await failure_of(asked)).type == type
        else:
            assert (await asked).body == {"key": ""}


async def test_an_offline_run_reaches_nobody(server: Server) -> None:
    for call in (OfflineWeb().get("search", server.url, {}), OfflineWeb().post("search", server.url, {})):
        failure = await failure_of(call)
        assert (failure.class_, failure.type) == (FailureClass.UNAVAILABLE, "offline")
    assert server.seen == []
