"""Requests and answers cross the wire unharmed, and what a server refuses is asked for in another form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import asking, planning
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import MODEL, WORK, answer, read

from leadhand.core.conversation import (
    AssistantMessage,
    Message,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from leadhand.models.openai.forms import Form, form_of
from leadhand.models.openai.wire import chat_body, encode
from leadhand.testing.faults import completion, request_of
from leadhand.testing.steps import Step


class TestRequests:
    def test_the_answer_is_always_bounded(self) -> None:
        assert chat_body(WORK, "m", Form())["max_tokens"] == 2_000
        other = Form(token_limit="max_completion_tokens")
        assert chat_body(WORK, "m", other)["max_completion_tokens"] == 2_000

    def test_settings_are_sent_if_they_are_set(self) -> None:
        assert not {"temperature", "reasoning_effort"} & chat_body(WORK, "m", Form()).keys()
        chosen = WORK.evolve(temperature=0.0, reasoning_effort="low")
        body = chat_body(chosen, "m", Form())
        assert (body["temperature"], body["reasoning_effort"]) == (0.0, "low")

    def test_a_structured_answer_is_asked_for_by_schema_or_in_words(self) -> None:
        request = planning("x", model=MODEL)
        by_schema = chat_body(request, "m", Form())
        assert by_schema["response_format"]["json_schema"]["name"] == "plan"
        assert "tools" not in by_schema
        in_words = chat_body(request, "m", Form(schema=False))
        assert not {"tools", "response_format"} & set(in_words)
        assert "JSON" in in_words["messages"][-1]["content"]
        assert [message["role"] for message in in_words["messages"]] == ["system", "user"]

    def test_a_model_without_tools_gets_them_in_words_and_answers_in_json(self) -> None:
        call = ToolCall(id="c", name="weather_tool", arguments={"location": "Paris"})
        request = WORK.evolve(
            messages=(
                *WORK.messages,
                AssistantMessage(tool_calls=(call,)),
                ToolMessage(call_id="c", name="weather_tool", content="18 °C"),
            )
        )
        form = Form(tools=False)
        body = chat_body(request, "m", form)
        assert "tools" not in body
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
        assert "18 °C" in body["messages"][-1]["content"]
        wish = read(answer({"content": '{"tool": "give_up", "arguments": {"reason": "x"}}'}), request, form)
        assert [(c.name, c.arguments) for c in wish.message.tool_calls] == [("give_up", {"reason": "x"})]
        assert read(answer({"content": "It is warm."}), request, form).message.text == "It is warm."

    def test_arguments_that_are_no_json_never_stand_in_the_history(self) -> None:
        broken = ToolCall(id="c", name="weather_tool", arguments=None, raw='{"location": "Par')
        request = WORK.evolve(messages=(*WORK.messages, AssistantMessage(tool_calls=(broken,))))
        calls = chat_body(request, "m", Form())["messages"][-1]["tool_calls"]
        assert json.loads(calls[0]["function"]["arguments"]) == {}

    def test_opaque_data_goes_back_to_the_model_it_came_from_and_to_no_other(self) -> None:
        data = {"reasoning_details": [{"x": 1}], "calls": {"c": {"extra_content": {"signature": "s"}}}}
        call = ToolCall(id="c", name="weather_tool", arguments={})
        said = AssistantMessage(tool_calls=(call,), opaque=Opaque(adapter="a", model=MODEL, data=data))
        request = WORK.evolve(messages=(*WORK.messages, said))
        back = chat_body(request, "m", Form(), adapter="a")["messages"][-1]
        assert back["reasoning_details"] == [{"x": 1}]
        assert back["tool_calls"][0]["extra_content"] == {"signature": "s"}
        assert "reasoning_details" not in chat_body(request, "m", Form(), adapter="b")["messages"][-1]
        moved = request.evolve(model="openai_compatible:other")
        assert "reasoning_details" not in chat_body(moved, "m", Form(), adapter="a")["messages"][-1]

    def test_half_a_surrogate_pair_does_not_break_the_request(self) -> None:
        assert b"?" in encode(chat_body(asking("\ud800", model=MODEL), "m", Form()))


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_ARGS = st.dictionaries(_TEXT, _TEXT | st.integers() | st.booleans() | st.none(), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    messages: list[Message] = [SystemMessage(text=draw(_TEXT)), UserMessage(text=draw(_TEXT))]
    for turn in range(draw(st.integers(0, 3))):
        calls = tuple(
            ToolCall(id=f"c{turn}_{n}", name=draw(st.sampled_from(["weather_tool", "give_up"])), arguments=draw(_ARGS))
            for n in range(draw(st.integers(0, 2)))
        )
        messages.append(AssistantMessage(text=draw(_TEXT), tool_calls=calls))
        messages += [ToolMessage(call_id=c.id, name=c.name, content=draw(_TEXT)) for c in calls]
        messages.append(UserMessage(text=draw(_TEXT)))
    return tuple(messages)


@given(conversations(), st.booleans())
def test_a_request_read_back_from_the_wire_is_the_same_request(messages: tuple[Message, ...], structured: bool) -> None:
    sent = (planning("x", model=MODEL) if structured else WORK).evolve(messages=messages)
    back = request_of(json.loads(encode(chat_body(sent, "m", Form()))), MODEL)
    plain = [_without_raw(message) for message in back.messages]
    assert plain == [_without_raw(message) for message in sent.messages]
    assert [tool.name for tool in back.tools] == [tool.name for tool in sent.tools]
    assert back.output == sent.output
    assert back.max_tokens == sent.max_tokens


def _without_raw(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message.evolve(ok=True) if isinstance(message, ToolMessage) else message
    return message.evolve(tool_calls=tuple(call.evolve(raw="") for call in message.tool_calls))


@given(st.lists(st.tuples(st.sampled_from(["weather_tool", "give_up"]), _ARGS), max_size=3), _TEXT.filter(str.strip))
def test_an_answer_crosses_the_wire_unharmed(calls: list[tuple[str, dict[str, Any]]], text: str) -> None:
    document = json.loads(json.dumps(completion(Step(text=text, calls=tuple(calls)), {})))
    reply = read(document)
    assert reply.message.text == text
    assert [(call.name, call.arguments) for call in reply.message.tool_calls] == calls


class TestForms:
    @pytest.mark.parametrize(
        ("base_url", "form"),
        [
            ("https://api.openai.com/v1", Form(token_limit="max_completion_tokens")),
            ("https://r.openai.azure.com/openai/v1", Form(token_limit="max_completion_tokens")),
            ("https://api.deepseek.com/v1", Form(schema=False)),
            ("https://api.mistral.ai/v1", Form(stream_usage=False)),
            ("http://127.0.0.1:11434/v1", Form()),
            ("http://[::1]:8080/v1", Form()),
        ],
    )
    def test_the_form_is_that_of_the_provider(self, base_url: str, form: Form) -> None:
        assert form_of(base_url) == form
