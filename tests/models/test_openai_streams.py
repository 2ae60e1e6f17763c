"""A stream becomes the answer it was cut from, however the pieces were made."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import read

from leadhand.models.openai.answers import AnswerOnly
from leadhand.models.openai.stream import Assembly


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

    @pytest.mark.parametrize("last", [{"prompt_tokens": 1, "completion_tokens": 1}, {"completion_tokens": 0}, {}])
    def test_a_last_chunk_that_counts_less_than_an_earlier_one_is_not_believed(self, last: dict[str, int]) -> None:
        assembly = Assembly()
        for counted in ({"prompt_tokens": 90}, {"prompt_tokens": 90, "completion_tokens": 40}, None, last):
            assembly.take({"choices": [{"delta": {"content": "It is"}, "finish_reason": "stop"}], "usage": counted})
        usage = read(assembly.document()).usage
        assert (usage.input_tokens, usage.output_tokens) == (90, 40)


def _calls_of(*parts: dict[str, Any]) -> list[tuple[str, Any]]:
    assembly = Assembly()
    for part in parts:
        assembly.take({"choices": [{"delta": {"tool_calls": [part]}}]})
    return [(call.name, call.arguments) for call in read(assembly.document()).message.tool_calls]


def _part(name: str = "", arguments: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {"name": name} if name else {}
    return {**fields, "function": function if arguments is None else {**function, "arguments": arguments}}


@pytest.mark.parametrize(
    "parts",
    [
        # Gemini: every call at index 0, told apart by their ids
        (
            _part("a", '{"n": 1}', index=0, id="x"),
            _part("b", '{"n":', index=0, id="y"),
            _part("", " 2}", index=0),
        ),
        # old vLLM: a new id with every piece
        (
            _part("a", None, index=0, id="x1"),
            _part("", '{"n": 1}', index=0, id="x2"),
            _part("b", '{"n": 2}', index=1, id="y1"),
        ),
        # neither index nor id: a name after whole arguments begins the next
        (_part("a", '{"n"'), _part("", ": 1}"), _part("b", '{"n": 2}')),
        # indexes from 1, ids later
        (_part("a", '{"n": 1}', index=1), _part("b", '{"n"', index=2, id="y"), _part("b", ": 2}", index=2, id="y")),
        # arguments as objects
        (
            {"index": 0, "id": "x", "function": {"name": "a", "arguments": {"n": 1}}},
            {"index": 1, "id": "y", "function": {"name": "b", "arguments": {"n": 2}}},
        ),
    ],
)
def test_calls_are_told_apart_however_their_pieces_are_marked(parts: tuple[dict[str, Any], ...]) -> None:
    assert _calls_of(*parts) == [("a", {"n": 1}), ("b", {"n": 2})]


def test_an_error_inside_a_choice_is_kept() -> None:
    assembly = Assembly()
    assembly.take({"choices": [{"delta": {"content": "half"}}]})
    assembly.take({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "gone", "code": 502}}]})
    assert assembly.error == {"message": "gone", "code": 502}


@given(
    st.lists(st.sampled_from(["<", "think", ">", "<think>", "</think>", "</", " ", "\n", "a", "Paris", "<b>"])),
    st.lists(st.integers(0, 40), max_size=6),
)
def test_thinking_is_held_back_however_it_is_cut(words: list[str], cuts: list[int]) -> None:
    text = "".join(words)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    heard = AnswerOnly()
    pieces = [heard.take(text[a:b]) for a, b in itertools.pairwise(places)] + [heard.close()]
    whole = AnswerOnly()
    assert "".join(pieces) == whole.take(text) + whole.close()


def test_a_draft_shows_no_thinking() -> None:
    assembly = Assembly()
    pieces = ("<th", "ink>Hm", "</thi", "nk>\n\n", "Pa", "ris")
    heard = [assembly.take({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
    assert heard == ["", "", "", "", "Pa", "ris"]
    assert read(assembly.document()).message.text == "Paris"
