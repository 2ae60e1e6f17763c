"""What a server refuses is asked for in the plain form, and that is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from http_client import PLAN, TALK, WORK, client

from leadhand import Leadhand
from leadhand.core.limits import Usage
from leadhand.ports import ModelError
from leadhand.testing.faults import Served, refuses, status
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import Step, calls, gives, says


class TestForms:
    async def test_a_structured_answer_falls_back_to_words_and_the_form_is_remembered(self) -> None:
        script = [refuses("response_format"), gives({"n": 1}), gives({"n": 2})]
        async with ScriptedServer(script) as server, client(server) as models:
            first, second = await models.ask(PLAN), await models.ask(PLAN)
        assert (first.value, second.value) == ({"n": 1}, {"n": 2})
        assert "response_format" in server.bodies[0]
        assert not {"response_format", "tools"} & {*server.bodies[1], *server.bodies[2]}
        assert '"properties"' in server.bodies[1]["messages"][-1]["content"]

    async def test_a_run_asks_again_in_the_form_that_the_server_takes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def answer(body: dict[str, Any]) -> Served | Step:
            return refuses("response_format") if "response_format" in body else gives({"answer": "Hello!"})

        async with ScriptedServer(answer) as server:
            monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
            async with Leadhand("openai_compatible:m", home=tmp_path) as lead:
                requests = [(await lead.run("Hello")).document["usage"]["requests"] for _ in range(2)]
        assert requests == [2, 1]
        assert ["response_format" in body for body in server.bodies] == [True, False, False]

    async def test_a_refusal_that_has_another_cause_leaves_the_form_as_it_was(self) -> None:
        blocked = status(400, "The response was filtered due to the prompt")
        script = [blocked, blocked, gives({"n": 1})]
        async with ScriptedServer(script) as server, client(server) as models:
            with pytest.raises(ModelError) as caught:
                await models.ask(PLAN)
            assert "filtered" in caught.value.failure.message
            assert (await models.ask(PLAN)).value == {"n": 1}
        assert ["response_format" in body for body in server.bodies] == [True, False, True]

    async def test_a_refused_schema_leaves_the_tools_of_other_requests(self) -> None:
        script = [refuses("response_format"), gives({"n": 1}), calls("weather_tool", location="Paris")]
        async with ScriptedServer(script) as server, client(server) as models:
            await models.ask(PLAN)
            await models.ask(WORK)
        assert "tools" in server.bodies[2]

    async def test_a_model_without_tools_is_asked_in_words(self) -> None:
        wish = says('{"tool": "weather_tool", "arguments": {"location": "Paris"}}')
        async with ScriptedServer([status(400, "m does not support tools"), wish]) as server, client(server) as models:
            reply = await models.ask(WORK)
        assert reply.message.tool_calls[0].arguments == {"location": "Paris"}

    async def test_a_server_that_does_not_stream_for_us_is_asked_plainly(self) -> None:
        refusal = status(400, "Your organization must be verified for this")
        heard: list[str] = []
        async with ScriptedServer([refusal, says("a b")]) as server, client(server) as models:
            await models.ask(TALK, heard.append)
        assert not {"stream", "stream_options"} & set(server.bodies[1])
        assert heard == ["a b"]

    async def test_a_call_asked_for_in_words_is_no_draft(self) -> None:
        wish = '{"tool": "weather_tool", "arguments": {"location": "Paris"}}'
        heard: list[str] = []
        script = [status(400, "m does not support tools"), says(wish), says("18 °C")]
        async with ScriptedServer(script) as server, client(server) as models:
            assert (await models.ask(WORK, heard.append)).message.tool_calls
            assert heard == []
            await models.ask(WORK, heard.append)
        assert heard == ["18 °C"]

    async def test_what_one_model_cannot_another_is_still_asked_for(self) -> None:
        script = [refuses("response_format"), gives({}), gives({})]
        async with ScriptedServer(script) as server, client(server) as models:
            await models.ask(PLAN)
            await models.ask(PLAN.evolve(model="openai_compatible:other"))
        assert "response_format" in server.bodies[2]

    async def test_a_server_that_refuses_everything_is_not_asked_for_ever(self) -> None:
        refusing = ScriptedServer(lambda _: status(400, "unsupported"))
        async with refusing as server, client(server) as models:
            with pytest.raises(ModelError) as caught:
                await models.ask(PLAN)
        assert caught.value.failure.class_ == "invalid"
        assert len(server.requests) == 2
        assert caught.value.usage == Usage(requests=1, nanousd=0)
