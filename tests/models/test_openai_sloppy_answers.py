"""Sloppy answers are understood, and what is no answer is one classed failure."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from asking import planning
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import MODEL, WORK, answer, read

from leadhand.core.conversation import AssistantMessage, Opaque, ToolCall, ToolMessage
from leadhand.models.openai.forms import Form
from leadhand.models.openai.stream import Assembly
from leadhand.ports import ModelError
from leadhand.ports.models import ModelRequest, input_bound

CUT = {"id": "x", "function": {"name": "weather_tool", "arguments": '{"location": "Par'}}


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

    def test_reasoning_is_no_answer_but_is_kept(self) -> None:
        reply = read(answer({"content": "hi", "reasoning_content": "hm"}))
        assert reply.message.text == "hi"
        assert reply.message.opaque == Opaque(
            adapter="openai_compatible", model=MODEL, data={"reasoning_content": "hm"}
        )

    def test_a_refusal_is_its_text(self) -> None:
        reply = read(answer({"content": None, "refusal": "I will not."}))
        assert (reply.message.text, reply.finish_reason) == ("I will not.", "refusal")

    def test_a_structured_answer_may_be_fenced(self) -> None:
        request = planning("x", model=MODEL)
        assert read(answer({"content": '```json\n{"goal": "g"}\n```'}), request).value == {"goal": "g"}
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
            (answer({"tool_calls": [CUT]}, finish_reason="length"), WORK, "invalid", "cut_answer"),
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

    @pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
    def test_half_an_answer_is_none(self, reason: str) -> None:
        with pytest.raises(ModelError, match="2000") as caught:
            read(answer({"content": "It is"}, finish_reason=reason))
        assert caught.value.failure.type == "cut_answer"

    def test_an_answer_that_is_whole_all_the_same_counts(self) -> None:
        request = planning("x", model=MODEL)
        assert read(answer({"content": '{"goal": "g"}'}, finish_reason="length"), request).value == {"goal": "g"}

    @pytest.mark.parametrize(
        "choice",
        [{"finish_reason": "error"}, {"finish_reason": "stop", "error": {"message": "Provider disconnected"}}],
    )
    def test_an_answer_that_the_server_gave_up_is_none(self, choice: dict[str, Any]) -> None:
        with pytest.raises(ModelError) as caught:
            read(answer({"content": "It is"}, **choice))
        assert (caught.value.failure.class_, caught.value.failure.type) == ("transient", "gave_up")

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            ("STOP", "stop"),
            ("eos", "stop"),
            ("end_turn", "stop"),
            (None, "stop"),
            ("other", "other"),
        ],
    )
    def test_the_reason_to_stop_has_one_name(self, said: str | None, reason: str) -> None:
        assert read(answer({"content": "x"}, finish_reason=said)).finish_reason == reason

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ('<think>Hm, {"a": 1}?</think>\n\nParis', "Paris"),
            ("\n<thinking>\nHm\n</thinking>Paris", "Paris"),
            ("Hm, let me see.\n</think>\n\nParis", "Paris"),
            ("The tag <think> opens, </think> closes.", "The tag <think> opens, </think> closes."),
            (" Paris", " Paris"),
            ("<", "<"),
        ],
    )
    def test_what_a_model_thought_aloud_is_no_answer(self, content: str, text: str) -> None:
        assert read(answer({"content": content})).message.text == text

    def test_thinking_does_not_hide_a_structured_answer(self) -> None:
        request = planning("x", model=MODEL)
        said = '<think>It wants {"goal": …}, so {"goal": "no"}</think>{"goal": "yes"}'
        assert read(answer({"content": said}), request).value == {"goal": "yes"}

    def test_thinking_without_end_is_an_empty_answer(self) -> None:
        with pytest.raises(ModelError) as caught:
            read(answer({"content": "<think>Hm, hm, hm"}))
        assert caught.value.failure.type == "empty_answer"

    @pytest.mark.parametrize(
        ("written", "arguments"),
        [
            ('"{\\"location\\": \\"Paris\\"}"', {"location": "Paris"}),
            ('\ufeff{"location": "Paris"}', {"location": "Paris"}),
            ('{"location": "\\ud83d"}', {"location": "?"}),
            ('{"location": NaN}', None),
            ({"location": float("nan")}, None),
            ('{"a":' * 150 + "1" + "}" * 150, {"location": "too deep"}),
            ('{"a":' * 400 + "1" + "}" * 400, None),
        ],
    )
    def test_arguments_are_what_a_log_can_keep(self, written: Any, arguments: Any) -> None:
        (call,) = read(answer({"tool_calls": [{"function": {"name": "n", "arguments": written}}]})).message.tool_calls
        if arguments != {"location": "too deep"}:
            assert call.arguments == arguments
        assert ToolCall.model_validate_json(call.model_dump_json()) == call

    def test_an_id_is_its_calls_own_in_the_whole_conversation(self) -> None:
        earlier = (
            AssistantMessage(tool_calls=(ToolCall(id="call_0", name="n", arguments={}),)),
            ToolMessage(call_id="call_0", name="n", content="{}"),
        )
        request = WORK.evolve(messages=(*WORK.messages, *earlier))
        twice = [{"id": "call_0", "function": {"name": "n"}}, {"id": "call_0", "function": {"name": "n"}}]
        ids = [call.id for call in read(answer({"tool_calls": twice}), request).message.tool_calls]
        assert len({*ids, "call_0"}) == 3


class TestUsage:
    def test_is_what_the_server_counted(self) -> None:
        usage = read(answer({"content": "x"})).usage
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, 5, 3)

    def test_counts_thinking_that_stands_in_the_total_alone(self) -> None:
        counted = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 108}
        assert read({**answer({"content": "x"}), "usage": counted}).usage.output_tokens == 103

    @pytest.mark.parametrize("said", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "5"}, "many"])
    def test_is_the_upper_bound_when_the_server_does_not_count(self, said: Any) -> None:
        usage = read({**answer({"content": "x"}), "usage": said}).usage
        assert usage.input_tokens == input_bound(WORK.messages, WORK.tools, None)
        assert usage.output_tokens == WORK.max_tokens


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
    for schema in (True, False):
        with contextlib.suppress(ModelError):
            assert read(document, request, Form(schema=schema, tools=False)).message
    assembly = Assembly()
    assembly.take(document)
    assembly.document()
