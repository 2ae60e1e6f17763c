"""Contract tests for adapters of models: inherit them to test your own adapter.

Open your adapter against a server that gives the scripted answers, and inherit the tests::

    class TestMyModels(ModelsContract):
        @asynccontextmanager
        async def serving(self, *answers):
            async with MyServer(answers) as server, aclosing(MyModels(server.url)) as models:
                yield Opened(models, "mine:model", lambda: len(server.requests), lambda: server.abandoned)

An adapter for the chat-completions protocol takes :class:`~leadhand.testing.model_server.ScriptedServer`. The tests of
a server that fails are in the repository, in ``tests/models/faulty_contract.py``.

Needs pytest and pytest-asyncio, in its automatic mode. For whole assertions in reports, call
``pytest.register_assert_rewrite("leadhand.testing.model_contract")`` in your ``conftest.py`` before importing this.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from leadhand.core.tool import ToolSpec
from leadhand.flows.work_order.roles import Plan
from leadhand.ports import Models
from leadhand.ports.models import ModelReply, ModelRequest, OutputSpec

from .steps import Step, calls, plans, says, subtask

PATIENCE_S = 20.0
"""The longest wait of a test, in seconds: it ends a test that would hang."""

_PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "day": {"type": "string"}},
    "required": ["location"],
}
_REASON: dict[str, Any] = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}
WEATHER = ToolSpec(name="weather_tool", description="The weather at a place on a day.", parameters=_PLACE)
GIVE_UP = ToolSpec(name="give_up", description="Say that it cannot be done.", parameters=_REASON)


def _asking(brief: dict[str, Any], **fields: Any) -> ModelRequest:
    messages: tuple[Message, ...] = (SystemMessage(text="You are the lead."), UserMessage(text=json.dumps(brief)))
    return ModelRequest(model="", messages=messages, **fields)


PLAN = _asking(
    {
        "request": "weather in Paris",
        "today": "2026-11-21",
        "tools": [{"name": "weather_tool", "description": WEATHER.description, "parameters": _PLACE}],
    },
    output=OutputSpec(name="plan", schema=Plan.model_json_schema()),
)
WORK = _asking(
    {"task": "work", "subtask": {"name": "n", "tool": "weather_tool", "args": {"location": "Paris"}}, "needs": {}},
    tools=(WEATHER, GIVE_UP),
)
COMPOSE = _asking({"task": "compose", "results": [{"summary": "Paris: 18 °C and sunny"}], "gaps": [], "sources": []})

A_PLAN = plans(subtask("check_weather", "weather_tool", location="Paris"))
A_CALL = calls("weather_tool", location="Paris")
A_TEXT = says("Paris: 18 °C and sunny")


class Opened(NamedTuple):
    """An open adapter, its model's full name, and how many requests reached the server and were closed unanswered."""

    models: Models
    model: str
    asked: Callable[[], int] = lambda: 0
    abandoned: Callable[[], int] = lambda: 0

    async def ask(
        self, request: ModelRequest, on_text: Callable[[str], None] | None = None, **fields: Any
    ) -> ModelReply:
        """Call the model once."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.models.ask(request.evolve(model=self.model, **fields), on_text)


class ModelsContract:
    """The contract of every adapter. Override ``serving``."""

    def serving(self, *answers: Step) -> AbstractAsyncContextManager[Opened]:
        """Open the adapter against a server that gives ``answers`` in turn; the built-in model needs no server."""
        raise NotImplementedError

    async def test_a_plan_comes_back_as_an_object_that_fits_its_schema(self) -> None:
        async with self.serving(A_PLAN) as opened:
            reply = await opened.ask(PLAN)
        plan = Plan.model_validate(reply.value)
        assert [(s.tool, s.args["location"]) for s in plan.subtasks] == [("weather_tool", "Paris")]
        assert reply.message.tool_calls == ()

    async def test_a_call_comes_back_with_an_id_and_its_arguments(self) -> None:
        async with self.serving(A_CALL) as opened:
            reply = await opened.ask(WORK)
        (call,) = reply.message.tool_calls
        assert call.name == "weather_tool"
        assert call.arguments is not None
        assert call.arguments["location"] == "Paris"
        assert call.id
        assert reply.finish_reason == "tool_calls"

    async def test_a_conversation_goes_on_behind_a_result(self) -> None:
        async with self.serving(A_CALL, says("18 °C")) as opened:
            first = await opened.ask(WORK)
            call = first.message.tool_calls[0]
            result = ToolMessage(call_id=call.id, name=call.name, content='{"summary": "18 °C", "raw": {}}')
            second = await opened.ask(WORK, messages=(*WORK.messages, first.message, result))
        assert second.message.text == "18 °C"

    async def test_text_is_heard_in_pieces_that_join_to_the_answer(self) -> None:
        heard: list[str] = []
        async with self.serving(A_TEXT) as opened:
            reply = await opened.ask(COMPOSE, heard.append)
        assert "".join(heard) == reply.message.text
        assert len(heard) > 3
        assert "18 °C" in reply.message.text
        assert reply.value is None

    async def test_text_is_the_same_whether_anybody_listens(self) -> None:
        async with self.serving(A_TEXT, A_TEXT) as opened:
            assert (await opened.ask(COMPOSE)).message.text == (await opened.ask(COMPOSE, lambda _: None)).message.text

    async def test_a_structured_answer_may_be_streamed_and_its_pieces_join_to_its_text(self) -> None:
        heard: list[str] = []
        async with self.serving(A_PLAN) as opened:
            reply = await opened.ask(PLAN, heard.append)
        assert "".join(heard) in ("", reply.message.text)

    async def test_every_call_is_counted(self) -> None:
        async with self.serving(A_PLAN, A_CALL, A_TEXT) as opened:
            for request in (PLAN, WORK, COMPOSE):
                assert (await opened.ask(request)).usage.requests == 1

    async def test_a_reply_can_be_logged_and_read_back(self) -> None:
        async with self.serving(A_CALL) as opened:
            reply = await opened.ask(WORK)
        assert AssistantMessage.model_validate_json(reply.message.model_dump_json()) == reply.message
        assert ModelReply.model_validate_json(reply.model_dump_json()) == reply

    async def test_calls_at_the_same_time_do_not_disturb_each_other(self) -> None:
        async with self.serving(*[A_TEXT] * 24) as opened:
            replies = await asyncio.gather(*(opened.ask(COMPOSE) for _ in range(24)))
        assert all("18 °C" in reply.message.text for reply in replies)

    async def test_a_profile_names_its_model(self) -> None:
        async with self.serving() as opened:
            assert opened.models.profile(opened.model).name == opened.model

    async def test_closing_twice_does_no_harm(self) -> None:
        async with self.serving(A_TEXT) as opened:
            await opened.ask(COMPOSE)
            await opened.models.aclose()
            await opened.models.aclose()
