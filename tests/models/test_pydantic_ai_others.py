"""Bedrock and Cohere over real HTTP: that their packages are set up as ours want them, time-outs and retries included.

What is common to all such providers is tested with Anthropic and Google.
"""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from asking import GIVE_UP, WEATHER, asking, spec
from http_client import answering

from leadhand.core.conversation import ToolMessage
from leadhand.core.errors import FailureClass
from leadhand.models.router import ModelRouter
from leadhand.ports import ModelError

TALK = asking("hello")
WORK = asking("weather in Paris?", tools=[spec(WEATHER), GIVE_UP])


@asynccontextmanager
async def serving(answer: Callable[[web.Request, Any], web.Response]) -> AsyncIterator[tuple[str, list[Any]]]:
    """A server that answers every POST; its address, and the bodies that came."""
    bodies: list[Any] = []

    async def handle(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return answer(request, bodies[-1])

    async with answering(handle) as url:
        yield url, bodies


class TestBedrock:
    MODEL = "bedrock:us.amazon.nova-micro-v1:0"

    @staticmethod
    def env(url: str) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "secret-1"}
        return {"AWS_REGION": "eu-west-1", "BEDROCK_BASE_URL": url, **keys}

    @staticmethod
    def document(*content: dict[str, Any], stop: str = "end_turn") -> web.Response:
        return web.json_response(
            {
                "output": {"message": {"role": "assistant", "content": list(content)}},
                "stopReason": stop,
                "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
                "metrics": {"latencyMs": 1},
            }
        )

    @staticmethod
    def events(*events: tuple[str, dict[str, Any]]) -> web.Response:
        """The binary frames of AWS's event streams: lengths, their checksum, headers, payload, checksum."""
        frames = b""
        for name, data in events:
            headers = b""
            for key, value in (
                (":message-type", "event"),
                (":event-type", name),
                (":content-type", "application/json"),
            ):
                headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
            payload = json.dumps(data).encode()
            prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
            frame = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + payload
            frames += frame + struct.pack(">I", binascii.crc32(frame))
        return web.Response(body=frames, content_type="application/vnd.amazon.eventstream")

    async def test_a_tool_call_and_its_result(self) -> None:
        text = {"text": "18 °C"}
        use = {"toolUse": {"toolUseId": "c1", "name": "weather_tool", "input": {"location": "Paris"}}}

        def answer(request: web.Request, body: Any) -> web.Response:
            assert "AKIA1" in request.headers["Authorization"]
            return self.document(use, stop="tool_use") if len(body["messages"]) == 1 else self.document(text)

        async with serving(answer) as (url, bodies):
            router = ModelRouter(env=self.env(url))
            request = WORK.evolve(model=self.MODEL)
            first = await router.ask(request)
            [call] = first.message.tool_calls
            assert call.arguments == {"location": "Paris"}
            result = ToolMessage(call_id=call.id, name=call.name, content="18")
            second = await router.ask(request.evolve(messages=(*request.messages, first.message, result)))
            await router.aclose()
        assert second.message.text == "18 °C"
        assert second.usage.input_tokens == 10
        assert second.usage.nanousd
        assert bodies[0]["inferenceConfig"]["maxTokens"] == request.max_tokens

    async def test_text_is_streamed(self) -> None:
        def answer(request: web.Request, body: Any) -> web.Response:
            return self.events(
                ("messageStart", {"role": "assistant"}),
                ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Par"}}),
                ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "is"}}),
                ("contentBlockStop", {"contentBlockIndex": 0}),
                ("messageStop", {"stopReason": "end_turn"}),
                ("metadata", {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}, "metrics": {}}),
            )

        heard: list[str] = []
        async with serving(answer) as (url, _):
            router = ModelRouter(env=self.env(url))
            reply = await router.ask(TALK.evolve(model=self.MODEL), heard.append)
            await router.aclose()
        assert heard == ["Par", "is"]
        assert reply.message.text == "Paris"
        assert reply.usage.output_tokens == 5

    @pytest.mark.parametrize(
        ("status", "kind", "class_"),
        [
            (429, "ThrottlingException", FailureClass.RATE_LIMITED),
            (403, "AccessDeniedException", FailureClass.UNAVAILABLE),
            (404, "ResourceNotFoundException", FailureClass.UNAVAILABLE),
            (500, "InternalServerException", FailureClass.TRANSIENT),
            (503, "ServiceUnavailableException", FailureClass.TRANSIENT),
            (400, "ValidationException", FailureClass.INVALID),
        ],
    )
    async def test_a_fault_is_classed_and_not_tried_again(self, status: int, kind: str, class_: FailureClass) -> None:
        def answer(request: web.Request, body: Any) -> web.Response:
            return web.json_response({"message": "no"}, status=status, headers={"x-amzn-ErrorType": kind})

        async with serving(answer) as (url, bodies):
            router = ModelRouter(env=self.env(url))
            with pytest.raises(ModelError) as caught:
                await router.ask(TALK.evolve(model=self.MODEL))
            await router.aclose()
        assert caught.value.failure.class_ is class_
        assert caught.value.failure.message.endswith(f"{status}: no")
        assert len(bodies) == 1

    async def test_a_key_is_not_sent_in_the_clear(self) -> None:
        router = ModelRouter(
            env={"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "k", "BEDROCK_BASE_URL": "http://127.0.0.1:9"}
        )
        with pytest.raises(ModelError, match="HTTPS") as caught:
            await router.ask(TALK.evolve(model=self.MODEL))
        await router.aclose()
        assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.UNAVAILABLE, "configuration")

    async def test_no_credentials(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for variable in ("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
        router = ModelRouter(env={"AWS_REGION": "eu-west-1", "BEDROCK_BASE_URL": "http://127.0.0.1:9"})
        with pytest.raises(ModelError) as caught:
            await router.ask(TALK.evolve(model=self.MODEL))
        await router.aclose()
        assert (caught.value.failure.class_, caught.value.failure.type) == (FailureClass.UNAVAILABLE, "bad_key")


class TestCohere:
    MODEL = "cohere:command-a-03-2025"

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        pytest.importorskip("cohere")

    @staticmethod
    def env(url: str) -> dict[str, str]:
        return {"CO_API_KEY": "key-1", "COHERE_BASE_URL": url}

    async def test_an_answer(self) -> None:
        def answer(request: web.Request, body: Any) -> web.Response:
            assert request.path == "/v2/chat"
            message = {"role": "assistant", "content": [{"type": "text", "text": "18 °C"}]}
            usage = {"tokens": {"input_tokens": 10, "output_tokens": 5}}
            return web.json_response({"id": "1", "finish_reason": "COMPLETE", "message": message, "usage": usage})

        async with serving(answer) as (url, bodies):
            router = ModelRouter(env=self.env(url))
            reply = await router.ask(WORK.evolve(model=self.MODEL))
            await router.aclose()
        assert reply.message.text == "18 °C"
        assert reply.usage.output_tokens == 5
        assert bodies[0]["max_tokens"] == 2_000

    @pytest.mark.parametrize(
        ("status", "class_"),
        [(429, FailureClass.RATE_LIMITED), (401, FailureClass.UNAVAILABLE), (500, FailureClass.TRANSIENT)],
    )
    async def test_a_fault_is_classed_and_not_tried_again(self, status: int, class_: FailureClass) -> None:
        async with serving(lambda r, b: web.json_response({"message": "no"}, status=status)) as (url, bodies):
            router = ModelRouter(env=self.env(url))
            with pytest.raises(ModelError) as caught:
                await router.ask(TALK.evolve(model=self.MODEL))
            await router.aclose()
        assert caught.value.failure.class_ is class_
        assert len(bodies) == 1
