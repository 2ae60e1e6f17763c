"""The MCP server, asked by the official client: its tools start, follow and answer runs of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from server.conftest import OpenDoor, OpenServer
from server.keys import LOCKED, keys_of
from server.teams import Office
from server.test_questions_over_http import QUESTION, asking

from leadhand.app.steering.access import Scope
from leadhand.server.mcp import mcp_server, offered

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["auto", "legacy"])
async def connect(request: pytest.FixtureRequest, open_door: OpenDoor) -> Connect:
    """Connects clients of the protocol of July 2026, and of the one before."""
    api = await open_door(models=asking())
    server = mcp_server(api.service, api.app.state.access)

    def client(**options: Any) -> AbstractAsyncContextManager[Client]:
        return Client(server, mode=request.param, **options)

    return client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_a_request_is_carried_out_with_progress_and_a_result_that_says_everything(connect: Connect) -> None:
    progress: list[tuple[float, float | None]] = []

    async def note(ended: float, all_: float | None, _: str | None) -> None:
        progress.append((ended, all_))

    async with connect() as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert {name: each.annotations and each.annotations.read_only_hint for name, each in tools.items()} == {
            **dict.fromkeys(("ask", "report", "research", "answer_question"), False),
            "run_status": True,
        }
        assert max(len(json.dumps(each.output_schema)) for each in tools.values()) <= 1_500
        asked = {"request": "measure Paris, measure Oslo"}
        result = (await client.call_tool("ask", asked, progress_callback=note)).structured_content

        assert (result["status"], result["asked"], result["usage"]["cost_usd"]) == ("partial", [], 0)
        assert "Paris: 40 dB" in result["answer"]
        assert [each["name"] for each in result["gaps"]] == ["measure_1"]
        assert (result["evidence"]["not_checked"], result["evidence"]["doubts"]) == (1, [])
        assert progress[-1] == (2, 2)
        assert progress == sorted(progress)
        assert await call(client, "run_status", run_id=result["run_id"]) == result


@pytest.mark.parametrize(
    ("answer", "calls"), [("approve", {"Ann 1": 1}), ("Approve", {"Ann 1": 1}), ("1", {"Ann 1": 1}), ("deny", {})]
)
async def test_a_waiting_run_says_what_it_asks_and_continues_with_the_answer(
    connect: Connect, office: Office, answer: str, calls: dict[str, int]
) -> None:
    async with connect() as client:
        waiting = await call(client, "ask", request="pay Ann")
        [asked] = waiting["asked"]
        assert (waiting["status"], asked["kind"], asked["choices"]) == ("waiting", "call", ["approve", "deny"])
        assert '{"to": "Ann"' in asked["text"]
        assert "Pay somebody." in asked["text"]
        assert await call(client, "run_status", run_id=waiting["run_id"], wait_seconds=0) == waiting

        refused = await client.call_tool("answer_question", {"run_id": waiting["run_id"], "answer": "perhaps"})
        assert (refused.is_error, office.calls.total()) == (True, 0)
        assert all(choice in refused.content[0].text for choice in asked["choices"])

        over = await call(client, "answer_question", run_id=waiting["run_id"], answer=answer)

        assert over["asked"] == []
        assert [each["tool"] for each in over["done"]] == ["pay"] * len(calls)
        assert office.calls == calls


async def test_several_things_that_are_asked_are_answered_by_their_ids(connect: Connect, office: Office) -> None:
    async with connect() as client:
        run = await call(client, "ask", request="pay Ann, pay Bob")
        assert (await client.call_tool("answer_question", {"run_id": run["run_id"], "answer": "approve"})).is_error
        for each in run["asked"]:
            answer = "approve" if "Ann" in each["text"] else "deny"
            given = {"run_id": run["run_id"], "answer": answer, "asked_id": each["id"]}
            run = await call(client, "answer_question", **given)
        assert office.calls == {"Ann 1": 1}


@pytest.mark.parametrize(("request_", "reply"), [("measure it", "Lyon"), ("pay Lyon", "approve")])
async def test_a_client_that_can_show_forms_asks_its_user_at_once(
    connect: Connect, office: Office, request_: str, reply: str
) -> None:
    shown: list[Any] = []

    async def ask(_: Any, form: Any) -> ElicitResult:
        shown.append(form)
        return ElicitResult(action="accept", content={"answer": reply})

    async def decline(_: Any, form: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with connect(elicitation_callback=ask) as client:
        result = await call(client, "ask", request=request_)
    assert (result["status"], len(shown)) == ("succeeded", 1)
    assert "Lyon" in result["answer"]
    assert shown[0].message == QUESTION or shown[0].requested_schema["properties"]["answer"]["enum"]

    before = office.calls.total()
    async with connect(elicitation_callback=decline) as client:
        assert (await call(client, "ask", request=request_))["status"] == "waiting"
    assert office.calls.total() == before


async def test_a_run_outlives_a_call_that_no_longer_waits(connect: Connect, office: Office) -> None:
    async with connect() as client:
        running = await call(client, "ask", request="measure Rome", wait_seconds=0)
        assert (running["status"], running["answer"]) == ("running", None)
        waiting = asyncio.create_task(call(client, "run_status", run_id=running["run_id"], wait_seconds=600))
        await asyncio.sleep(0)
        waiting.cancel()
        office.gate.set()
        assert (await call(client, "run_status", run_id=running["run_id"]))["answer"] == "Rome: 40 dB"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask", {}),
        ("ask", {"request": " "}),
        ("ask", {"request": "measure Paris", "budget": 5}),
        ("ask", {"request": "measure Paris", "wait_seconds": 601}),
        ("run_status", {"run_id": "run_none"}),
        ("answer_question", {"run_id": "run_none", "answer": "approve"}),
    ],
)
async def test_what_cannot_be_done_is_an_error_that_says_why(
    connect: Connect, tool: str, arguments: dict[str, Any]
) -> None:
    async with connect() as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.content[0].text


async def test_over_http_each_call_has_the_rights_of_its_key(serve: OpenServer, office: Office) -> None:
    served = await serve(doors=LOCKED)
    keys = await keys_of(served.door)
    await keys.add("other", Scope.RUN)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(offered(served.door.app))

        async def client(who: str) -> Client:
            http = httpx2.AsyncClient(headers=keys.header(who), timeout=60, verify=False)
            transport = streamable_http_client(f"{served.url}/mcp", http_client=await stack.enter_async_context(http))
            return await stack.enter_async_context(Client(transport))

        assert (await served.door.post("/mcp", {})).status_code == 401
        runner, other, both = [await client(who) for who in ("runner", "other", "both")]
        waiting = await call(runner, "ask", request="pay Ann")
        given = {"run_id": waiting["run_id"], "answer": "approve"}
        for who in (runner, other):
            assert (await who.call_tool("answer_question", given)).is_error
        assert (await other.call_tool("run_status", {"run_id": waiting["run_id"]})).is_error
        assert not office.calls

        own = await call(both, "ask", request="pay Bob")
        over = await call(both, "answer_question", run_id=own["run_id"], answer="approve")
        assert (over["status"], office.calls) == ("succeeded", {"Bob 1": 1})
