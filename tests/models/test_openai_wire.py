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
from leadhand.models.openai.capabilities import Abilities, OutputMode, ignored, learn
from leadhand.models.openai.wire import chat_body, encode
from leadhand.testing.faults import completion, request_of
from leadhand.testing.steps import Step


class TestRequests:
    def test_arguments_that_only_the_slow_writer_can_write_are_written(self) -> None:
        calls = (
            ToolCall(id="a", name="t", arguments={"place": "Orléans"}, raw=""),
            ToolCall(id="b", name="t", arguments={"place": "half \ud800"}, raw=""),
            ToolCall(id="c", name="t", arguments={"km": float("inf")}, raw=""),
        )
        request = asking({"task": "work"}, AssistantMessage(text="", tool_calls=calls), model=MODEL)
        body = chat_body(request, "m", Abilities())
        said = [call["function"]["arguments"] for call in body["messages"][-1]["tool_calls"]]
        assert [json.loads(text) for text in said] == [call.arguments for call in calls]

    def test_the_answer_is_always_bounded(self) -> None:
        assert chat_body(WORK, "m", Abilities())["max_tokens"] == 2_000
        other = Abilities(token_limit="max_completion_tokens")
        assert chat_body(WORK, "m", other)["max_completion_tokens"] == 2_000

    def test_a_structured_answer_is_asked_for_by_schema_by_function_or_in_words(self) -> None:
        request = planning("x", model=MODEL)
        by_schema = chat_body(request, "m", Abilities())
        assert by_schema["response_format"]["json_schema"]["name"] == "plan"
        assert "tools" not in by_schema
        by_function = chat_body(request, "m", Abilities(output=OutputMode.FUNCTION))
        assert by_function["tool_choice"]["function"]["name"] == "give_plan"
        assert [tool["function"]["name"] for tool in by_function["tools"]] == ["give_plan"]
        with_tools = chat_body(request.evolve(tools=WORK.tools), "m", Abilities(output=OutputMode.FUNCTION))
        assert with_tools["tool_choice"] == "required", "another tool can be called first"
        in_words = chat_body(request, "m", Abilities(output=OutputMode.PROMPT))
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
        abilities = Abilities(tools=False)
        body = chat_body(request, "m", abilities)
        assert "tools" not in body
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
        assert "18 °C" in body["messages"][-1]["content"]
        wish = read(answer({"content": '{"tool": "give_up", "arguments": {"reason": "x"}}'}), request, abilities)
        assert [(c.name, c.arguments) for c in wish.message.tool_calls] == [("give_up", {"reason": "x"})]
        assert read(answer({"content": "It is warm."}), request, abilities).message.text == "It is warm."

    def test_arguments_that_are_no_json_never_stand_in_the_history(self) -> None:
        broken = ToolCall(id="c", name="weather_tool", arguments=None, raw='{"location": "Par')
        request = WORK.evolve(messages=(*WORK.messages, AssistantMessage(tool_calls=(broken,))))
        calls = chat_body(request, "m", Abilities())["messages"][-1]["tool_calls"]
        assert json.loads(calls[0]["function"]["arguments"]) == {}

    def test_opaque_data_goes_back_to_the_model_it_came_from_and_to_no_other(self) -> None:
        data = {"reasoning_details": [{"x": 1}], "calls": {"c": {"extra_content": {"signature": "s"}}}}
        call = ToolCall(id="c", name="weather_tool", arguments={})
        said = AssistantMessage(tool_calls=(call,), opaque=Opaque(adapter="a", model=MODEL, data=data))
        request = WORK.evolve(messages=(*WORK.messages, said))
        back = chat_body(request, "m", Abilities(), adapter="a")["messages"][-1]
        assert back["reasoning_details"] == [{"x": 1}]
        assert back["tool_calls"][0]["extra_content"] == {"signature": "s"}
        assert "reasoning_details" not in chat_body(request, "m", Abilities(), adapter="b")["messages"][-1]
        moved = request.evolve(model="openai_compatible:other")
        assert "reasoning_details" not in chat_body(moved, "m", Abilities(), adapter="a")["messages"][-1]

    def test_half_a_surrogate_pair_does_not_break_the_request(self) -> None:
        assert b"?" in encode(chat_body(asking("\ud800", model=MODEL), "m", Abilities()))


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


@given(conversations(), st.booleans(), st.sampled_from(OutputMode))
def test_a_request_read_back_from_the_wire_is_the_same_request(
    messages: tuple[Message, ...], structured: bool, mode: OutputMode
) -> None:
    sent = (planning("x", model=MODEL) if structured else WORK).evolve(messages=messages)
    abilities = Abilities(output=OutputMode.FUNCTION if mode is OutputMode.PROMPT else mode)
    back = request_of(json.loads(encode(chat_body(sent, "m", abilities))), MODEL)
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


class TestAbilities:
    PLAN = planning("x", model=MODEL)

    @pytest.mark.parametrize(
        ("status", "message", "learned"),
        [
            (400, "This model does not support response format `json_schema`", Abilities(output=OutputMode.FUNCTION)),
            (400, "'response_format.type' must be 'json_schema' or 'text'", Abilities(output=OutputMode.FUNCTION)),
            (400, "This response_format type is unavailable now", Abilities(output=OutputMode.FUNCTION)),
            (422, "response_format: Extra inputs are not permitted", Abilities(output=OutputMode.FUNCTION)),
            (500, 'response_format type must be one of "text" or "json_object"', Abilities(output=OutputMode.FUNCTION)),
            (400, "failed to parse grammar", Abilities(output=OutputMode.FUNCTION)),
            (
                400,
                "'max_tokens' is not supported. Use 'max_completion_tokens'.",
                Abilities(token_limit="max_completion_tokens"),
            ),
        ],
    )
    def test_a_refusal_moves_to_the_next_form(self, status: int, message: str, learned: Abilities) -> None:
        assert learn(Abilities(), self.PLAN, status, message, streamed=False) == learned

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (404, "No endpoints found that support tool use"),
            (400, "registry.ollama.ai/library/gemma:latest does not support tools"),
            (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ],
    )
    def test_a_model_without_tools_is_found_out(self, status: int, message: str) -> None:
        learned = learn(Abilities(), WORK, status, message, streamed=False)
        assert learned == Abilities(tools=False)

    def test_a_function_that_cannot_be_forced_leaves_words(self) -> None:
        by_function = Abilities(output=OutputMode.FUNCTION)
        learned = learn(by_function, self.PLAN, 400, "tool_choice is not supported", streamed=False)
        assert learned == Abilities(output=OutputMode.PROMPT)

    @pytest.mark.parametrize(
        ("message", "learned"),
        [
            ("Your organization must be verified to stream this model. stream", Abilities(stream=False)),
            ("Streaming is not supported", Abilities(stream=False)),
            ("System role not supported", Abilities(system=False)),
            ("Unsupported value: messages[0].role does not support 'system' with this model", Abilities(system=False)),
        ],
    )
    def test_what_else_servers_refuse_has_another_form(self, message: str, learned: Abilities) -> None:
        assert learn(Abilities(), WORK, 400, message, streamed=True) == learned

    def test_a_number_that_is_too_large_is_no_unknown_field(self) -> None:
        said = (
            "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 "
            "tokens; max_completion_tokens must be smaller"
        )
        assert learn(Abilities(), WORK, 400, said, streamed=False) is None

    def test_instructions_without_a_role_begin_the_first_message(self) -> None:
        messages = chat_body(WORK, "m", Abilities(system=False))["messages"]
        assert [message["role"] for message in messages] == ["user"]
        assert messages[0]["content"].startswith(f"{chat_body(WORK, 'm', Abilities())['messages'][0]['content']}\n\n{{")

    def test_a_form_that_was_ignored_is_followed_by_the_next(self) -> None:
        second = ignored(Abilities())
        assert second == Abilities(output=OutputMode.FUNCTION)
        assert second is not None
        assert ignored(second) == Abilities(output=OutputMode.PROMPT)
        assert ignored(Abilities(output=OutputMode.PROMPT)) is None

    def test_a_stream_that_cannot_count_is_asked_without(self) -> None:
        learned = learn(Abilities(), WORK, 400, "Unknown parameter: stream_options", streamed=True)
        assert learned == Abilities(stream_usage=False)

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
            (400, "This model's maximum context length is 8192 tokens"),
            (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
            (401, "tools are not supported for this key"),
            (404, "The model `x` does not exist"),
        ],
    )
    def test_any_other_refusal_teaches_nothing(self, status: int, message: str) -> None:
        assert learn(Abilities(), WORK, status, message, streamed=False) is None
