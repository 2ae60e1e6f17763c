"""The client asks a real server over HTTP, and every fault of one becomes one classed failure."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import Any

import pytest
from http_client import KEY, MODEL, TALK, client

from leadhand.core.limits import Usage
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile
from leadhand.testing.faults import fault, status
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import says


class TestAnswers:
    async def test_text_comes_back_with_what_it_used(self) -> None:
        said = says("18 °C").costing(input_tokens=9, output_tokens=4)
        async with ScriptedServer([said]) as server, client(server) as models:
            reply = await models.ask(TALK)
        assert reply.message.text == "18 °C"
        assert reply.usage == Usage(requests=1, input_tokens=9, output_tokens=4)
        assert server.bodies[0]["model"] == "scripted"
        assert server.bodies[0]["max_tokens"] == 2_000
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    async def test_a_price_is_put_on_what_was_used(self) -> None:
        profile = ModelProfile(name=MODEL, input_nanousd=2, output_nanousd=10)
        prices: dict[str, Any] = {"profiles": lambda _: profile, "costs": lambda _, used: 2 * used.input_tokens}
        said = says("x").costing(input_tokens=5, output_tokens=1)
        async with ScriptedServer([said]) as server, client(server, **prices) as models:
            assert models.profile(MODEL) == profile
            assert (await models.ask(TALK)).usage.nanousd == 10


class TestFaults:
    async def test_nobody_listening_is_a_lost_connection(self) -> None:
        models = OpenAICompatible("http://127.0.0.1:9/v1", KEY)
        with pytest.raises(ModelError) as caught:
            await models.ask(TALK)
        await models.aclose()
        assert (caught.value.failure.class_, caught.value.failure.type) == ("transient", "connection")
        assert caught.value.usage == Usage(requests=1, nanousd=0)

    async def test_what_was_refused_cost_nothing_and_what_broke_off_is_unknown(self) -> None:
        async with ScriptedServer([status(500), fault("truncated").serve()]) as server, client(server) as models:
            for usage in (Usage(requests=1, nanousd=0), None):
                with pytest.raises(ModelError) as caught:
                    await models.ask(TALK)
                assert caught.value.usage == usage


class TestConnections:
    async def test_a_client_can_be_used_again_after_it_was_closed(self) -> None:
        async with ScriptedServer([says("a"), says("b")]) as server:
            models = OpenAICompatible(server.base_url)
            await models.ask(TALK)
            await models.aclose()
            assert (await models.ask(TALK)).message.text == "b"
            await models.aclose()
            await models.aclose()
        assert "authorization" not in server.requests[0].headers

    def test_it_follows_its_caller_to_another_event_loop(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        models = OpenAICompatible(f"http://127.0.0.1:{port}/v1")

        async def ask(*, last: bool) -> str:
            async with ScriptedServer([says("x")], port=port):
                reply = await models.ask(TALK)
                if last:
                    await models.aclose()
                return reply.message.text

        assert [asyncio.run(ask(last=False)), asyncio.run(ask(last=True))] == ["x", "x"]

    async def test_a_proxy_of_the_environment_never_stands_before_this_machine(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        async with ScriptedServer([says("direct")]) as server, client(server) as models:
            assert (await models.ask(TALK)).message.text == "direct"

    async def test_a_proxy_of_the_environment_is_used_for_other_machines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with ScriptedServer([says("by proxy")]) as server:
            monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
            monkeypatch.setenv("no_proxy", "")
            models = OpenAICompatible("http://model.invalid/v1")
            assert (await models.ask(TALK)).message.text == "by proxy"
            await models.aclose()


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "https://api.example.com/v1"])
def test_the_price_of_a_model_is_unknown_wherever_its_server_is(address: str) -> None:
    profile = OpenAICompatible(address).profile("m")
    assert (profile.free, profile.input_nanousd, profile.window) == (False, None, None)


def test_importing_the_adapter_imports_no_http_client() -> None:
    program = "import sys, leadhand.models.openai.adapter, leadhand.models.router; print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
