"""Text is heard as it is written, and nothing passes for a whole answer that is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from http_client import PLAN, TALK, client, failure_of

from leadhand.testing.faults import Served, Way, sent
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import gives, says


class TestStreaming:
    async def test_text_is_heard_as_it_is_written(self) -> None:
        heard: list[str] = []
        said = says("one two three").costing(input_tokens=9, output_tokens=3)
        async with ScriptedServer([said]) as server, client(server) as models:
            reply = await models.ask(TALK, heard.append)
        assert heard == ["one ", "two ", "three"]
        assert reply.message.text == "one two three"
        assert reply.usage.output_tokens == 3
        assert server.bodies[0]["stream_options"] == {"include_usage": True}

    async def test_a_structured_answer_is_streamed_to_whoever_listens(self) -> None:
        heard: list[str] = []
        plan = gives({"goal": "a goal"})
        async with ScriptedServer([plan, plan]) as server, client(server) as models:
            reply = await models.ask(PLAN, heard.append)
            assert (await models.ask(PLAN)).value == reply.value == {"goal": "a goal"}
        assert [body.get("stream") for body in server.bodies] == [True, None]
        assert "".join(heard) == reply.message.text
        assert len(heard) > 1

    async def test_a_server_that_does_not_stream_is_heard_at_once(self) -> None:
        plain = Served(body='{"choices": [{"message": {"content": "whole"}}]}')
        heard: list[str] = []
        async with ScriptedServer([plain]) as server, client(server) as models:
            assert (await models.ask(TALK, heard.append)).message.text == "whole"
        assert heard == ["whole"]

    async def test_marks_of_life_are_no_pieces_of_the_answer(self) -> None:
        events = 'data: {"choices": [{"delta": {"content": "a "}}]}\r\n\r\n: ping\r\n\r\ndata:\r\n\r\n'
        events += 'event: ping\r\ndata: {"type": "ping"}\r\n\r\n'
        events += 'data: {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]}\r\n\r\n'
        heard: list[str] = []
        served = Served(body=events, content_type="text/event-stream")
        async with ScriptedServer([served]) as server, client(server) as models:
            assert (await models.ask(TALK, heard.append)).message.text == "a b"
        assert heard == ["a ", "b"]

    @pytest.mark.parametrize(
        ("message", "class_"),
        [("Provider disconnected", "transient"), ("maximum context length is 8192 tokens", "too_large")],
    )
    async def test_an_error_in_a_stream_is_classed_by_its_words(self, message: str, class_: str) -> None:
        failure = await failure_of(
            replace(sent(Way.STREAM_ERROR), body=json.dumps({"error": {"message": message}})), streamed=True
        )
        assert failure.class_ == class_
        assert message in failure.message

    async def test_a_stream_of_broken_events_is_called_that(self) -> None:
        events = "event: delta\ndata: {broken\n\n"
        failure = await failure_of(Served(body=events, content_type="text/event-stream"), streamed=True)
        assert (failure.class_, failure.type) == ("transient", "bad_body")
        assert failure.next_action

    @pytest.mark.parametrize(
        "events",
        [
            '{"choices": [{"delta": {"content": "x"}}]}\n\n',
            'dat: {"choices": []}\n\n',
            "data: [1, 2]\n\ndata: [DONE]\n\n",
            'data: {"choices": [{"delta": {"content": "x"}}]}\n\nda',
            'data: {"choices": [{"delta": {"content": "x"}}]}\n\n}}broken\n\n',
        ],
    )
    async def test_a_stream_of_something_else_is_no_answer(self, events: str) -> None:
        failure = await failure_of(Served(body=events, content_type="text/event-stream"), streamed=True)
        assert (failure.class_, failure.type) == ("transient", "cut_stream")

    async def test_an_answer_that_said_it_was_over_is_whole_however_the_connection_ends(self) -> None:
        events = 'data: {"choices": [{"delta": {"content": "whole"}, "finish_reason": "stop"}]}\n\n'
        cut = Served(body=events + ":" * len(events), content_type="text/event-stream", way=Way.BREAK_OFF)
        async with ScriptedServer([cut]) as server, client(server) as models:
            assert (await models.ask(TALK, lambda _: None)).message.text == "whole"
