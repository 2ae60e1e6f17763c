"""A stream becomes the answer it was cut from, however the pieces were made."""

from __future__ import annotations

from typing import Any

from wire_samples import read

from leadhand.models.openai_stream import Assembly


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
