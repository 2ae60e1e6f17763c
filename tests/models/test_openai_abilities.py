"""What a server refuses or ignores is asked for in another form, and remembered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_client import PLAN, TALK, WORK, client

from leadhand import Leadhand
from leadhand.core.limits import Usage
from leadhand.core.value import Json
from leadhand.models.openai.capabilities import Abilities
from leadhand.ports import ModelError
from leadhand.testing.faults import Served, refuses, status
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import Step, calls, gives, says


class TestAbilities:
    async def test_a_structured_answer_falls_back_twice_and_the_form_is_remembered(self) -> None:
        script = [refuses("response_format"), refuses("tool_choice"), gives({"n": 1}), gives({"n": 2})]
        async with ScriptedServer(script) as server, client(server) as models:
            first, second = await models.ask(PLAN), await models.ask(PLAN)
        assert (first.value, second.value) == ({"n": 1}, {"n": 2})
        assert (first.usage.requests, second.usage.requests) == (1, 1)
        assert "response_format" in server.bodies[0]
        assert "tool_choice" in server.bodies[1]
        assert not {"response_format", "tool_choice"} & set(server.bodies[2])

    async def test_what_was_refused_is_not_sent_by_a_later_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def answer(body: dict[str, Any]) -> Served | Step:
            return refuses("response_format") if "response_format" in body else gives({"answer": "Hello!"})

        requests: list[int] = []
        async with ScriptedServer(answer) as server:
            monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
            for _ in range(2):
                async with Leadhand("openai_compatible:m", home=tmp_path) as lead:
                    requests.append((await lead.run("Hello")).document["usage"]["requests"])
        assert requests == [2, 1]
        assert ["response_format" in body for body in server.bodies] == [True, False, False]

    @pytest.mark.parametrize("kept", [None, [], {"output": "telepathy"}, {"output": "prompt", "mind": 1}])
    def test_what_another_release_remembered_is_ignored(self, kept: Json) -> None:
        assert Abilities.remembered(kept) is None

    async def test_a_forced_function_carries_the_answer(self) -> None:
        async with ScriptedServer([refuses("response_format"), gives({"n": 1})]) as server, client(server) as models:
            reply = await models.ask(PLAN)
        assert reply.value == {"n": 1}
        assert reply.message.tool_calls == ()

    async def test_a_tool_call_before_a_structured_answer_does_not_change_the_form(self) -> None:
        request = PLAN.evolve(tools=WORK.tools)
        script = [calls("weather_tool", location="Paris"), gives({"n": 1})]
        async with ScriptedServer(script) as server, client(server) as models:
            first, second = await models.ask(request), await models.ask(request)
        assert (first.message.tool_calls[0].name, second.value) == ("weather_tool", {"n": 1})
        assert "response_format" in server.bodies[1]

    async def test_the_field_that_bounds_an_answer_is_learned(self) -> None:
        refusal = status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        async with ScriptedServer([refusal, says("x"), says("y")]) as server, client(server) as models:
            await models.ask(TALK)
            await models.ask(TALK)
        assert [("max_tokens" in body, "max_completion_tokens" in body) for body in server.bodies] == [
            (True, False),
            (False, True),
            (False, True),
        ]

    async def test_a_model_without_tools_is_asked_in_words(self) -> None:
        wish = says('{"tool": "weather_tool", "arguments": {"location": "Paris"}}')
        async with ScriptedServer([status(400, "m does not support tools"), wish]) as server, client(server) as models:
            reply = await models.ask(WORK)
        assert reply.message.tool_calls[0].arguments == {"location": "Paris"}

    async def test_the_field_of_a_validation_error_is_understood(self) -> None:
        extra = [
            {"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}
        ]
        refusal = Served(status=422, body=json.dumps({"detail": extra}))
        async with ScriptedServer([refusal, says("x")]) as server, client(server) as models:
            assert (await models.ask(TALK, lambda _: None)).message.text == "x"
        assert "stream_options" not in server.bodies[1]

    async def test_a_server_that_does_not_stream_for_us_is_asked_plainly(self) -> None:
        refusal = Served(
            status=400,
            body='{"error": {"message": "Your organization must be verified for this", "param": "stream"}}',
        )
        heard: list[str] = []
        async with ScriptedServer([refusal, says("a b")]) as server, client(server) as models:
            await models.ask(TALK, heard.append)
        assert "stream" not in server.bodies[1]
        assert heard == ["a b"]

    async def test_a_form_that_brings_prose_is_given_up_and_the_answer_handed_on(self) -> None:
        script = [says("Gladly!"), says("Of course!"), gives({"n": 1}), gives({"n": 2})]
        async with ScriptedServer(script) as server, client(server) as models:
            replies = [await models.ask(PLAN) for _ in range(4)]
        assert [reply.value for reply in replies] == [None, None, {"n": 1}, {"n": 2}]
        assert [reply.usage.requests for reply in replies] == [1, 1, 1, 1]
        assert "response_format" in server.bodies[0]
        assert "tool_choice" in server.bodies[1]
        assert '"properties"' in server.bodies[2]["messages"][-1]["content"]

    async def test_a_form_that_has_worked_is_kept_whatever_comes(self) -> None:
        script = [gives({"n": 1}), says("Gladly!"), gives({"n": 2})]
        async with ScriptedServer(script) as server, client(server) as models:
            assert [(await models.ask(PLAN)).value for _ in range(3)] == [{"n": 1}, None, {"n": 2}]
        assert all("response_format" in body for body in server.bodies)

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
        refusing = ScriptedServer(lambda _: status(400, "response_format tool_choice unsupported"))
        async with refusing as server, client(server) as models:
            with pytest.raises(ModelError) as caught:
                await models.ask(PLAN)
        assert caught.value.failure.class_ == "invalid"
        assert len(server.requests) == 3
        assert caught.value.usage == Usage(requests=1, nanousd=0)
