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

from leadhand.core.errors import FailureClass, ToolError
from leadhand.tools.services import SERVICES
from leadhand.tools.web_client import AiohttpWeb, user_agent

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Gate:
    """Lets everybody through and writes down who came."""

    def __init__(self) -> None:
        self.passed: list[str] = []

    async def __call__(self, service: str) -> None:
        self.passed.append(service)


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
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def client(gate: Gate) -> AsyncIterator[AiohttpWeb]:
    async with aclosing(AiohttpWeb(gate=gate, total_timeout=5)) as made:
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
    assert request.headers["User-Agent"] == user_agent()
    assert request.headers["User-Agent"].startswith("leadhand/")
    assert "github.com/leadhand/leadhand" in request.headers["User-Agent"]


async def test_a_post_carries_json(client: AiohttpWeb, server: Server) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.json_response({"method": request.method, "body": await request.json()})

    server.handler = echo
    reply = await client.post("valhalla", server.url, {"costing": "auto"})
    assert reply.body == {"method": "POST", "body": {"costing": "auto"}}


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b'{"cut": ', b"\xff\xfe\xfa", b"[" * 100_000], ids=["html", "none", "cut", "bytes", "deep"]
)
async def test_a_body_that_is_no_json_is_text(client: AiohttpWeb, server: Server, body: bytes) -> None:
    server.answers(status=200, body=body, headers={"Content-Type": "text/html; charset=utf-8"})
    reply = await client.get("nominatim", server.url, {})
    assert reply.body is None
    assert reply.text == body.decode("utf-8", "replace")


async def test_a_charset_nobody_knows_is_read_as_utf_8(client: AiohttpWeb, server: Server) -> None:
    server.answers(status=200, body="für".encode(), headers={"Content-Type": "text/plain; charset=klingon"})
    assert (await client.get("nominatim", server.url, {})).text == "für"


async def test_a_server_that_never_answers_is_a_timeout(gate: Gate, server: Server) -> None:
    server.handler = hang
    async with aclosing(AiohttpWeb(gate=gate, total_timeout=0.1)) as client:
        failure = await failure_of(client.get("nominatim", server.url, {}))
    assert (failure.class_, failure.type) == (FailureClass.TRANSIENT, "timeout")
    assert "Nominatim" in failure.message


async def test_nobody_listening_is_a_lost_connection(client: AiohttpWeb) -> None:
    failure = await failure_of(client.get("osrm", f"http://127.0.0.1:{unused_port()}/route", {}))
    assert (failure.class_, failure.type) == (FailureClass.TRANSIENT, "connection")
    assert "OSRM" in failure.message


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
    assert "--offline" in failure.next_action
    own = await failure_of(client.get("my own", server.url, {}))
    assert "--offline" not in own.next_action


async def test_an_address_that_is_none_names_the_setting_to_correct(client: AiohttpWeb) -> None:
    failure = await failure_of(client.get("nominatim", "nominatim.local/search", {}))
    assert (failure.class_, failure.type) == (FailureClass.UNAVAILABLE, "bad_url")
    assert "LEADHAND_NOMINATIM_URL" in failure.next_action


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
async def test_eleven_megabytes_are_refused(client: AiohttpWeb, server: Server, announced: bool) -> None:
    async def pour(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": str(11 * 2**20)} if announced else None)
        await response.prepare(request)
        for _ in range(11):
            await response.write(b" " * 2**20)
        return response

    server.handler = pour
    failure = await failure_of(client.get("nominatim", server.url, {}))
    assert (failure.class_, failure.type) == (FailureClass.UNAVAILABLE, "body_too_large")


async def test_a_kept_answer_asks_neither_gate_nor_service(gate: Gate, cache: Any, server: Server) -> None:
    server.answers([1])
    async with aclosing(AiohttpWeb(gate=gate, cache=cache)) as client:
        first = await client.get("nominatim", server.url, {"q": "Paris", "limit": 5})
        again = await client.get("nominatim", server.url, {"limit": 5, "q": "Paris"})
        assert len(server.seen) == len(gate.passed) == 1
        for other in (client.get("nominatim", server.url, {"q": "Lyon"}), client.post("nominatim", server.url, {})):
            await other
    assert first.body == again.body == [1]
    assert len(server.seen) == len(gate.passed) == 3
    assert cache.seconds == [SERVICES["nominatim"].kept_s] * 3


@pytest.mark.parametrize(
    "response", [{"status": 500, "text": "{}"}, {"status": 404, "text": "{}"}, {"status": 200, "text": "<html>"}]
)
async def test_only_good_answers_are_kept(gate: Gate, cache: Any, server: Server, response: dict[str, Any]) -> None:
    server.answers(**response)
    async with aclosing(AiohttpWeb(gate=gate, cache=cache)) as client:
        reply = await client.get("nominatim", server.url, {})
        assert await client.get("nominatim", server.url, {}) is not reply
    assert reply.status == response["status"]
    assert "content-type" in reply.headers
    assert len(server.seen) == 2
    assert cache.kept == {}


async def test_the_gate_is_passed_once_a_request(client: AiohttpWeb, gate: Gate, server: Server) -> None:
    server.answers([])
    for service in ("nominatim", "valhalla", "nominatim", "open-meteo"):
        await client.get(service, server.url, {})
    assert gate.passed == ["nominatim", "valhalla", "nominatim"]  # Open-Meteo asks for no pause


async def test_the_wait_at_the_gate_does_not_count_as_time_out(server: Server) -> None:
    async def slow(_: str) -> None:
        await asyncio.sleep(0.3)

    server.answers([])
    async with aclosing(AiohttpWeb(gate=slow, total_timeout=0.2)) as client:
        assert (await client.get("nominatim", server.url, {})).status == 200


async def test_a_service_without_rules_is_asked_plainly(client: AiohttpWeb, gate: Gate, server: Server) -> None:
    server.answers({"hits": []})
    assert (await client.get("search", server.url, {})).body == {"hits": []}
    assert gate.passed == []


async def test_the_same_question_at_the_same_time_is_one_request(gate: Gate, server: Server) -> None:
    go = asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.json_response({"n": len(server.seen)})

    server.handler = wait
    async with aclosing(AiohttpWeb(gate=gate)) as client:
        calls = [asyncio.create_task(client.get("nominatim", server.url, {"q": "Paris"})) for _ in range(50)]
        await server.reached.wait()
        go.set()
        replies = await asyncio.gather(*calls)
    assert {json.dumps(reply.body) for reply in replies} == {'{"n": 1}'}
    assert gate.passed == ["nominatim"]


async def test_one_callers_cancellation_leaves_the_answer_to_the_others(gate: Gate, server: Server) -> None:
    go = asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.json_response([1])

    server.handler = wait
    async with aclosing(AiohttpWeb(gate=gate)) as client:
        first, second = (asyncio.create_task(client.get("nominatim", server.url, {})) for _ in range(2))
        await server.reached.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        go.set()
        assert (await second).body == [1]
    assert first.cancelled()


async def test_when_nobody_waits_any_more_the_request_ends(gate: Gate, server: Server) -> None:
    server.handler = hang
    async with aclosing(AiohttpWeb(gate=gate)) as client:
        only = asyncio.create_task(client.get("nominatim", server.url, {}))
        await server.reached.wait()
        only.cancel()
        await asyncio.gather(only, return_exceptions=True)
        server.answers([2])
        assert (await client.get("nominatim", server.url, {})).body == [2]
    assert len(server.seen) == 2


async def test_a_failure_is_told_to_everybody_who_waited_and_is_not_kept(
    gate: Gate, cache: Any, server: Server
) -> None:
    url = f"http://127.0.0.1:{unused_port()}/search"
    async with aclosing(AiohttpWeb(gate=gate, cache=cache)) as client:
        told = await asyncio.gather(*(client.get("nominatim", url, {}) for _ in range(3)), return_exceptions=True)
        assert {type(error) for error in told} == {ToolError}
        server.answers([1])
        assert (await client.get("nominatim", server.url, {})).body == [1]


async def test_closing_gives_up_what_is_under_way(gate: Gate, server: Server) -> None:
    server.handler = hang
    client = AiohttpWeb(gate=gate)
    call = asyncio.create_task(client.get("nominatim", server.url, {}))
    await server.reached.wait()
    await client.aclose()
    assert isinstance((await asyncio.gather(call, return_exceptions=True))[0], asyncio.CancelledError)
