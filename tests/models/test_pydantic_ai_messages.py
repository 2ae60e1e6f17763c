"""Messages go to pydantic-ai and come back without loss, opaque data of the provider included."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from asking import asking
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from leadhand.core.conversation import (
    AssistantMessage,
    Message,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from leadhand.core.limits import Usage
from leadhand.models.pydantic_ai.client import PydanticAI
from leadhand.models.pydantic_ai.connection import Connection, Service
from leadhand.models.pydantic_ai.messages import conversation, opaque_of, reply_of
from leadhand.ports.models import ModelReply, ModelRequest

MODEL = "function:m"


async def nothing() -> None: ...


def adapter(answer: ModelResponse, seen: list[list[ModelMessage]] | None = None) -> PydanticAI:
    """A client of a model that always gives ``answer`` and records what it was asked."""

    def function(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(messages)
        return answer

    model = FunctionModel(function)
    return PydanticAI(
        Connection(provider="function", title="Function"), opening=lambda _: Service(lambda name: model, nothing)
    )


def ours(messages: list[ModelMessage]) -> list[Message]:
    """Their messages as ours: the way back, for what a provider reads."""
    back: list[Message] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
            calls = tuple(
                ToolCall(
                    id=part.tool_call_id,
                    name=part.tool_name,
                    arguments=part.args if isinstance(part.args, dict) else None,
                    raw="" if isinstance(part.args, dict) else part.args or "",
                )
                for part in message.parts
                if isinstance(part, ToolCallPart)
            )
            opaque = opaque_of(message, calls, adapter="function", model=MODEL)
            back.append(AssistantMessage(text=text, tool_calls=calls, opaque=opaque))
            continue
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    back.append(SystemMessage(text=part.content))
                case UserPromptPart(content=str() as text):
                    back.append(UserMessage(text=text))
                case ToolReturnPart(content=str() as content):
                    ok = part.outcome == "success"
                    back.append(ToolMessage(call_id=part.tool_call_id, name=part.tool_name, content=content, ok=ok))
                case _:
                    raise AssertionError(part)
    return back


texts = st.text(max_size=30)
some_text = st.text(min_size=1, max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, json_values, max_size=3)
details = st.dictionaries(some_text, json_values, min_size=1, max_size=2)
requests = (
    st.builds(SystemMessage, text=texts)
    | st.builds(UserMessage, text=texts)
    | st.builds(ToolMessage, call_id=some_text, name=some_text, content=texts, ok=st.booleans())
)


@st.composite
def assistants(draw: st.DrawFn) -> AssistantMessage:
    """What a provider may have answered: texts, thinking and calls in any order, with data of its own."""
    about = {"id": some_text, "provider_name": some_text, "provider_details": details}
    ids = draw(st.lists(some_text, max_size=3, unique=True))
    parts: list[ModelResponsePart] = [ToolCallPart(draw(some_text), draw(objects | some_text), id) for id in ids]
    parts += [TextPart(text) for text in draw(st.lists(some_text, max_size=3))]
    for text in draw(st.lists(texts, max_size=2)):
        parts.append(ThinkingPart(text, **draw(st.fixed_dictionaries({}, optional={"signature": some_text}))))
    parts = [replace(part, **draw(st.fixed_dictionaries({}, optional=about))) for part in draw(st.permutations(parts))]
    response = ModelResponse(parts, provider_name=draw(st.none() | some_text))
    [message] = ours([response])
    assert isinstance(message, AssistantMessage)
    return message


@given(st.lists(requests | assistants(), max_size=6))
def test_a_conversation_goes_there_and_comes_back_without_loss(messages: list[Message]) -> None:
    assert ours(conversation(messages, adapter="function", model=MODEL)) == messages


@given(assistants())
def test_opaque_data_is_json_that_a_log_can_keep(message: AssistantMessage) -> None:
    assert AssistantMessage.model_validate_json(message.model_dump_json()) == message


@given(assistants(), st.sampled_from([("other", MODEL), ("function", "function:other")]))
def test_opaque_data_is_dropped_when_the_model_or_the_provider_changes(
    message: AssistantMessage, now: tuple[str, str]
) -> None:
    [response] = conversation([message], adapter=now[0], model=now[1])
    assert isinstance(response, ModelResponse)
    assert not any(isinstance(part, ThinkingPart) for part in response.parts)
    assert response.provider_name is None
    [back] = ours([response])
    assert back == message.model_copy(update={"opaque": None})


def test_opaque_data_that_does_not_fit_its_message_loses_no_text_and_no_call() -> None:
    parts = [ThinkingPart("hm", signature="s"), TextPart("other"), ToolCallPart("t", {}, "c")]
    call = ToolCall(id="c", name="t", arguments={})
    opaque = opaque_of(ModelResponse(parts), (call,), adapter="function", model=MODEL)
    for calls, kinds in (((call,), [ThinkingPart, TextPart, ToolCallPart]), ((), [TextPart])):
        message = AssistantMessage(text="text", tool_calls=calls, opaque=opaque)
        [response] = conversation([message], adapter="function", model=MODEL)
        assert [type(part) for part in response.parts] == kinds
        assert [part.content for part in response.parts if isinstance(part, TextPart)] == ["text"]


@pytest.mark.parametrize("data", [{}, {"parts": None}, {"parts": [{}]}, {"parts": [{"part_kind": "text"}]}])
def test_opaque_data_of_another_form_does_no_harm(data: dict[str, Any]) -> None:
    message = AssistantMessage(text="t", opaque=Opaque(adapter="function", model=MODEL, data=data))
    [response] = conversation([message], adapter="function", model=MODEL)
    assert isinstance(response, ModelResponse)
    assert [part.content for part in response.parts if isinstance(part, TextPart)] == ["t"]


async def test_a_system_message_in_the_middle_is_put_so_that_every_provider_takes_it() -> None:
    seen: list[list[ModelMessage]] = []
    request = asking("weather?", AssistantMessage(text="18"), SystemMessage(text="be brief"), model=MODEL)
    await adapter(ModelResponse(parts=[TextPart("x")]), seen).ask(request.evolve(messages=request.messages))
    assert "be brief" in str(seen[0])


@pytest.mark.parametrize(
    ("args", "arguments"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("", {}), (None, {}), ("{", None), ("[1]", None), ("null", None)],
)
async def test_arguments_are_an_object_or_none(args: Any, arguments: dict[str, Any] | None) -> None:
    reply = await adapter(ModelResponse(parts=[ToolCallPart("t", args, "c1")])).ask(asking("x", model=MODEL))
    [call] = reply.message.tool_calls
    assert call.arguments == arguments
    assert reply.finish_reason == "tool_calls"


async def test_details_that_are_no_json_are_kept_as_what_json_can_say() -> None:
    from datetime import UTC, datetime

    part = TextPart("t", provider_details={"when": datetime(2026, 11, 21, tzinfo=UTC)})
    reply = await adapter(ModelResponse(parts=[part])).ask(asking("x", model=MODEL))
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


HALF = "\ud83d"


def test_halves_of_surrogate_pairs_and_numbers_that_are_none_reach_no_log() -> None:
    parts = [
        ThinkingPart(HALF, signature="s", provider_details={"x": HALF}),
        TextPart(f"a{HALF}"),
        ToolCallPart("t", {"q": HALF}, "c1"),
        ToolCallPart("t", {"q": float("nan")}, "c2"),
    ]
    request = asking(f"x{HALF}", model=MODEL)
    reply = reply_of(ModelResponse(parts=parts), request, adapter="function", usage=Usage())
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply
    assert reply.message.text == "a?"
    assert HALF not in str(conversation(request.messages, adapter="function", model=MODEL))
    assert [call.arguments for call in reply.message.tool_calls] == [{"q": "?"}, None]


def test_a_client_serves_one_event_loop_after_the_other() -> None:
    opened: list[str] = []

    def opening(connection: Connection) -> Service:
        opened.append(connection.provider)
        return Service(lambda name: FunctionModel(lambda *_: ModelResponse(parts=[TextPart("x")])), nothing)

    client = PydanticAI(Connection(provider="function", title="Function"), opening=opening)

    async def twice() -> list[ModelReply]:
        return await asyncio.gather(*(client.ask(asking("x", model=MODEL)) for _ in range(2)))

    assert len(asyncio.run(twice())) == 2
    assert len(opened) == 1  # by one for all
    assert len(asyncio.run(twice())) == 2
    assert len(opened) == 2


def asked(**fields: Any) -> ModelRequest:
    return asking("x", model=MODEL, **fields)


async def test_a_structured_answer_is_read_from_the_call_or_from_the_words() -> None:
    request = asked(output="review")
    by_call = await adapter(ModelResponse(parts=[ToolCallPart("give_review", {"complete": True}, "c")])).ask(request)
    assert by_call.value == {"complete": True}
    assert by_call.message.tool_calls == ()
    assert by_call.finish_reason == "stop"
    in_words = await adapter(ModelResponse(parts=[TextPart('```json\n{"complete": true}\n```')])).ask(request)
    assert in_words.value == {"complete": True}
    neither = await adapter(ModelResponse(parts=[TextPart("all good")])).ask(request)
    assert neither.value is None
    assert neither.message.text == "all good"
