"""Requests and answers cross the wire unharmed, and sloppy answers are understood."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from asking import GIVE_UP, WEATHER, asking, planning, spec
from hypothesis import given
from hypothesis import strategies as st

from leadhand.domain.conversation import (
    AssistantMessage,
    Message,
    ModelRequest,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    input_bound,
)
from leadhand.models.openai_abilities import Abilities, OutputMode, learn
from leadhand.models.openai_answers import reply_of
from leadhand.models.openai_stream import Assembly
from leadhand.models.openai_wire import chat_body, encode
from leadhand.ports import ModelError
from leadhand.testing.served import completion, request_of
from leadhand.testing.steps import Step

MODEL = "openai_compatible:m"
WORK = asking({"task": "work"}, tools=[spec(WEATHER), GIVE_UP], model=MODEL)


def answer(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, **choice}], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}


def read(document: dict[str, Any], request: ModelRequest = WORK, abilities: Abilities | None = None) -> Any:
    return reply_of(document, request, abilities or Abilities(), adapter="openai_compatible")


class TestRequests:
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
        in_words = chat_body(request, "m", Abilities(output=OutputMode.PROMPT))
        assert not {"tools", "response_format"} & set(in_words)
        assert "JSON object" in in_words["messages"][-1]["content"]
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


class TestSloppyAnswers:
    @pytest.mark.parametrize(
        "content",
        ["hello", [{"type": "text", "text": "hel"}, {"type": "image_url"}, {"text": "lo"}], ["hel", "lo"]],
    )
    def test_text_may_come_in_parts(self, content: Any) -> None:
        assert read(answer({"content": content})).message.text == "hello"

    @pytest.mark.parametrize(
        ("call", "arguments"),
        [
            ({"function": {"name": "weather_tool", "arguments": '{"location": "Paris"}'}}, {"location": "Paris"}),
            (
                {"id": None, "function": {"name": "weather_tool", "arguments": {"location": "Paris"}}},
                {"location": "Paris"},
            ),
            ({"id": "", "name": "weather_tool", "arguments": '{"location": "Paris"}'}, {"location": "Paris"}),
            ({"id": "x", "function": {"name": "weather_tool"}}, {}),
            ({"id": "x", "function": {"name": "weather_tool", "arguments": ""}}, {}),
            ({"id": "x", "function": {"name": "weather_tool", "arguments": '{"location": "Par'}}, None),
            ({"id": "x", "function": {"name": "weather_tool", "arguments": "[1]"}}, None),
            ({"id": "x", "function": {"name": "weather_tool", "arguments": 7}}, None),
        ],
    )
    def test_a_call_may_lack_its_id_and_have_arguments_of_any_kind(
        self, call: dict[str, Any], arguments: dict[str, Any] | None
    ) -> None:
        reply = read(answer({"content": None, "tool_calls": [call]}))
        assert reply.message.tool_calls[0].name == "weather_tool"
        assert reply.message.tool_calls[0].arguments == arguments
        assert reply.message.tool_calls[0].id
        assert reply.finish_reason == "tool_calls"

    def test_calls_with_the_same_id_are_told_apart(self) -> None:
        call = {"id": "x", "function": {"name": "give_up", "arguments": "{}"}}
        reply = read(answer({"tool_calls": [call, call]}))
        assert len({made.id for made in reply.message.tool_calls}) == 2

    def test_the_protocol_before_tools_is_understood(self) -> None:
        reply = read(answer({"function_call": {"name": "give_up", "arguments": "{}"}}))
        assert reply.message.tool_calls[0].name == "give_up"

    def test_reasoning_is_no_answer_but_is_kept(self) -> None:
        reply = read(answer({"content": "hi", "reasoning_content": "hm"}))
        assert reply.message.text == "hi"
        assert reply.message.opaque == Opaque(
            adapter="openai_compatible", model=MODEL, data={"reasoning_content": "hm"}
        )

    def test_a_refusal_is_its_text(self) -> None:
        reply = read(answer({"content": None, "refusal": "I will not."}))
        assert (reply.message.text, reply.finish_reason) == ("I will not.", "refusal")

    def test_a_structured_answer_may_be_fenced_or_come_as_a_call(self) -> None:
        request = planning("x", model=MODEL)
        assert read(answer({"content": '```json\n{"goal": "g"}\n```'}), request).value == {"goal": "g"}
        by_call = {"tool_calls": [{"id": "x", "function": {"name": "give_plan", "arguments": '{"goal": "g"}'}}]}
        reply = read(answer(by_call), request, Abilities(output=OutputMode.FUNCTION))
        assert (reply.value, reply.message.tool_calls, reply.message.text) == ({"goal": "g"}, (), '{"goal": "g"}')
        assert read(answer({"content": "no idea"}), request).value is None

    @pytest.mark.parametrize(
        ("document", "request_made", "class_", "type_"),
        [
            ({"choices": []}, WORK, "transient", "empty_answer"),
            ({}, WORK, "transient", "empty_answer"),
            ({"choices": ["?"]}, WORK, "transient", "empty_answer"),
            (answer({"content": ""}), WORK, "transient", "empty_answer"),
            (answer({"content": None, "tool_calls": []}), WORK, "transient", "empty_answer"),
            (answer({"content": None}, finish_reason="length"), WORK, "invalid", "cut_answer"),
            (answer({"content": '{"goal": '}, finish_reason="length"), planning("x"), "invalid", "cut_answer"),
            (answer({"content": ""}, finish_reason="content_filter"), WORK, "invalid", "content_filter"),
        ],
    )
    def test_an_answer_with_nothing_in_it_is_a_classed_failure_with_its_cost(
        self, document: dict[str, Any], request_made: ModelRequest, class_: str, type_: str
    ) -> None:
        with pytest.raises(ModelError) as caught:
            read(document, request_made)
        assert (caught.value.failure.class_, caught.value.failure.type) == (class_, type_)
        assert caught.value.usage is not None

    def test_a_cut_text_is_an_answer_that_says_it_was_cut(self) -> None:
        assert read(answer({"content": "It is"}, finish_reason="length")).finish_reason == "length"


class TestUsage:
    def test_is_what_the_server_counted(self) -> None:
        usage = read(answer({"content": "x"})).usage
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 5, 3)

    @pytest.mark.parametrize("said", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "5"}, "many"])
    def test_is_the_upper_bound_when_the_server_does_not_count(self, said: Any) -> None:
        usage = read({**answer({"content": "x"}), "usage": said}).usage
        assert usage.input_tokens == input_bound(WORK.messages, WORK.tools, None)
        assert usage.output_tokens == WORK.max_tokens


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


class TestStreams:
    def test_pieces_become_the_answer_they_were_cut_from(self) -> None:
        assembly = Assembly()

        def call(index: int, arguments: str, **fields: Any) -> dict[str, Any]:
            name = {"name": "give_up"} if fields else {}
            part = {"index": index, "function": {**name, "arguments": arguments}, **fields}
            return {"choices": [{"delta": {"tool_calls": [part]}}]}

        chunks: list[dict[str, Any]] = [
            {"model": "m", "choices": [{"delta": {"role": "assistant", "content": ""}}]},
            {"choices": [{"delta": {"reasoning_content": "hm "}}]},
            {"choices": [{"delta": {"reasoning_content": "yes", "content": "It "}}]},
            {"choices": [{"delta": {"content": "is"}}]},
            call(0, '{"rea', id="a"),
            call(1, "{}", id="b"),
            call(0, 'son": "x"}'),
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        ]
        assert [assembly.take(chunk) for chunk in chunks] == ["", "", "It ", "is", "", "", "", "", ""]
        assert assembly.ended
        reply = read(assembly.document())
        assert reply.message.text == "It is"
        assert [(c.id, c.arguments) for c in reply.message.tool_calls] == [("a", {"reason": "x"}), ("b", {})]
        assert reply.usage.output_tokens == 2
        assert reply.message.opaque is not None
        assert reply.message.opaque.data["reasoning_content"] == "hm yes"

    def test_calls_without_an_index_are_told_apart_by_their_ids(self) -> None:
        assembly = Assembly()
        parts = (
            {"id": "a", "function": {"name": "give_up", "arguments": "{}"}},
            {"id": "b", "function": {"name": "x", "arguments": '{"n"'}},
            {"function": {"arguments": ": 1}"}},
        )
        for part in parts:
            assembly.take({"choices": [{"delta": {"tool_calls": [part]}}]})
        calls = read(assembly.document()).message.tool_calls
        assert [(call.name, call.arguments) for call in calls] == [("give_up", {}), ("x", {"n": 1})]

    def test_an_error_in_the_stream_is_kept(self) -> None:
        assembly = Assembly()
        assembly.take({"error": {"message": "overloaded", "code": 503}})
        assert assembly.error == {"message": "overloaded", "code": 503}


_JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=10) | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_ODD = st.fixed_dictionaries(
    {},
    optional={
        "choices": _JSON
        | st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "message": _JSON
                    | st.fixed_dictionaries(
                        {},
                        optional={
                            "content": _JSON,
                            "tool_calls": _JSON | st.lists(st.fixed_dictionaries({"function": _JSON, "id": _JSON})),
                        },
                    ),
                    "delta": _JSON | st.fixed_dictionaries({"content": _JSON, "tool_calls": _JSON}),
                    "finish_reason": _JSON,
                },
            )
        ),
        "usage": _JSON,
        "error": _JSON,
        "model": _JSON,
    },
)


@given(_ODD, st.sampled_from([WORK, planning("x")]))
def test_an_answer_of_any_shape_is_a_reply_or_a_classed_failure(
    document: dict[str, Any], request: ModelRequest
) -> None:
    for mode in OutputMode:
        with contextlib.suppress(ModelError):
            assert read(document, request, Abilities(output=mode, tools=False)).message
    assembly = Assembly()
    assembly.take(document)
    assembly.document()
