"""The client asks a real server over HTTP, and every fault of one becomes one classed failure."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import Any

import pytest
from http_client import KEY, MODEL, PLAN, TALK, WORK, client, failure_of

from leadhand.core.limits import Usage
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile
from leadhand.testing.faults import Served, Way, fault, rate_limited, sent, status, web_page
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import calls_all, gives, says


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

    async def test_tools_are_offered_and_called(self) -> None:
        wanted = calls_all(("weather_tool", {"location": "Paris"}), ("weather_tool", {"location": "Lyon"}))
        async with ScriptedServer([wanted]) as server, client(server) as models:
            reply = await models.ask(WORK)
        assert [call.arguments for call in reply.message.tool_calls] == [{"location": "Paris"}, {"location": "Lyon"}]
        assert [tool["function"]["name"] for tool in server.bodies[0]["tools"]] == ["weather_tool", "give_up"]

    async def test_arguments_that_are_no_json_are_kept_as_they_were_written(self) -> None:
        async with (
            ScriptedServer([calls_all(("weather_tool", '{"location": "Par'))]) as server,
            client(server) as models,
        ):
            call = (await models.ask(WORK)).message.tool_calls[0]
        assert (call.arguments, call.raw) == (None, '{"location": "Par')

    async def test_a_structured_answer_is_decoded(self) -> None:
        async with ScriptedServer([gives({"goal": "g"})]) as server, client(server) as models:
            assert (await models.ask(PLAN)).value == {"goal": "g"}
        assert server.bodies[0]["response_format"]["type"] == "json_schema"

    async def test_a_slow_answer_that_keeps_coming_is_waited_for(self) -> None:
        async with ScriptedServer([sent(Way.DRIP, says("slowly"), pause_s=0.001)]) as server, client(server) as models:
            assert (await models.ask(TALK)).message.text == "slowly"

    async def test_a_price_is_put_on_what_was_used(self) -> None:
        profile = ModelProfile(name=MODEL, input_nanousd=2, output_nanousd=10)
        prices: dict[str, Any] = {"profiles": lambda _: profile, "costs": lambda _, used: 2 * used.input_tokens}
        said = says("x").costing(input_tokens=5, output_tokens=1)
        async with ScriptedServer([said]) as server, client(server, **prices) as models:
            assert models.profile(MODEL) == profile
            assert (await models.ask(TALK)).usage.nanousd == 10


class TestFaults:
    @pytest.mark.parametrize(
        ("served", "class_", "type_"),
        [
            (fault("truncated").serve(), "transient", "bad_body"),
            (sent(Way.BREAK_OFF), "transient", "broken_off"),
            (fault("empty_answer").serve(), "transient", "empty_answer"),
            (fault("no_choices").serve(), "transient", "empty_answer"),
            (rate_limited(1.5), "rate_limited", "rate_limited"),
            (fault("out_of_quota").serve(), "unavailable", "quota"),
            (status(401, f"bad key {KEY}"), "unavailable", "bad_key"),
            (status(404, "no such model"), "unavailable", "unknown_model"),
            (status(400, "m", kind="context_length_exceeded"), "too_large", "context_length"),
            (status(400, "wrong"), "invalid", "http_400"),
            (status(500), "transient", "http_500"),
            (status(503), "transient", "http_503"),
            (web_page(), "unavailable", "not_an_api"),
            (web_page(404), "unavailable", "not_an_api"),
            (web_page(502), "transient", "http_502"),
            (fault("huge").serve(), "invalid", "too_long_answer"),
        ],
    )
    async def test_each_fault_is_one_classed_failure(self, served: Any, class_: str, type_: str) -> None:
        failure = await failure_of(served)
        assert (failure.class_, failure.type) == (class_, type_)

    async def test_an_error_inside_a_200_is_no_answer(self) -> None:
        inside = Served(body='{"error": {"message": "busy", "code": 429}}')
        assert (await failure_of(inside)).class_ == "rate_limited"

    async def test_the_wait_that_a_server_asks_for_is_passed_on(self) -> None:
        assert (await failure_of(rate_limited(1.5))).retry_after_s == 1.5

    async def test_the_deadline_covers_the_whole_call(self) -> None:
        failure = await failure_of(sent(Way.DRIP, says("x" * 500), pause_s=0.02), TALK.evolve(deadline_s=0.1))
        assert (failure.class_, failure.type) == ("transient", "timeout")
        assert "0.1 s" in failure.message

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

    async def test_cancelling_closes_the_request(self) -> None:
        async with ScriptedServer([fault("hang").serve(), says("next")]) as server, client(server) as models:
            task = asyncio.create_task(models.ask(TALK))
            while not server.requests:  # noqa: ASYNC110 - the server says nothing else
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await models.ask(TALK)).message.text == "next"
        assert server.abandoned == 1

    async def test_a_time_out_from_outside_is_not_taken_for_ones_own(self) -> None:
        async with ScriptedServer([fault("hang").serve()]) as server, client(server) as models:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await models.ask(TALK)


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

    async def test_many_calls_run_at_once(self) -> None:
        started = 0
        everyone = asyncio.Event()

        async def wait_for_all(body: dict[str, Any]) -> str:
            nonlocal started
            started += 1
            if started == 50:
                everyone.set()
            await everyone.wait()
            return "x"

        async with ScriptedServer(wait_for_all) as server, client(server) as models:
            replies = await asyncio.gather(*(models.ask(TALK) for _ in range(50)))
        assert len(replies) == 50

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
