"""Real HTTP servers on this machine that speak Anthropic's Messages and Google's generateContent from a script."""

from __future__ import annotations

import asyncio
import inspect
import json
import ssl
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from leadhand.core.tool import ToolSpec
from leadhand.ports import Models
from leadhand.ports.models import ModelReply, ModelRequest, OutputSpec


@dataclass(frozen=True, kw_only=True)
class Answer:
    """``calls`` are (id, name, arguments), ``thinking`` (text, signature). ``finish``: stop, length, filter or ""."""

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    thinking: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    sent: int = 100
    cached: int = 0
    into_cache: int = 0
    written: int = 20


@dataclass(frozen=True, kw_only=True)
class Fault:
    """``error`` is what the protocol's error object says; ``body`` is sent as it is instead. ``cut``: after so many
    bytes of the answer the connection is closed. ``seconds``: waits before anything is said."""

    status: int = 200
    error: tuple[str, str] = ("", "")
    body: str | bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut: int = 0
    answer: Answer | None = None
    seconds: float = 0.0


Serving = Answer | Fault
Script = Iterable[Serving] | Callable[[ModelRequest], Serving | Awaitable[Serving]]


class NativeServer(ABC):
    """A server that answers from ``script``: a list, or one function of the request as ours. ``bodies`` and
    ``headers`` are what came, ``abandoned`` how many went away before their answer."""

    name: str
    url_variable: str
    key_variable: str

    def __init__(self, script: Script = (), *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._always = script if callable(script) else None
        self._script: deque[Serving] = deque() if callable(script) else deque(script)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.abandoned = 0
        self.asked = asyncio.Event()
        self.base_url = ""

    @property
    def env(self) -> dict[str, str]:
        return {self.url_variable: self.base_url, self.key_variable: "key-1"}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[NativeServer]:
        app = web.Application(client_max_size=50_000_000)
        app.router.add_post("/{path:.*}", self._answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.5, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        self.base_url = f"http{'s' if self._tls else ''}://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()
        assert not self._script, f"{len(self._script)} answers that nothing asked for"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.asked.set()
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.paths.append(request.path_qs)
        model, streamed = self.aim(request.path, body)
        serving: Any
        if self._always is not None:
            serving = self._always(self.read(body, model))
            serving = await serving if inspect.isawaitable(serving) else serving
        else:
            assert self._script, "a request that the script does not answer"
            serving = self._script.popleft()
        fault = serving if isinstance(serving, Fault) else Fault()
        answer = serving if isinstance(serving, Answer) else serving.answer
        if fault.seconds:
            try:
                await asyncio.sleep(fault.seconds)
            except asyncio.CancelledError:
                self.abandoned += 1
                raise
        content_type = fault.content_type
        if answer is not None and streamed:
            payload = b"".join(self.events(answer, model))
            content_type = "text/event-stream"
        elif answer is not None:
            payload = json.dumps(self.document(answer, model)).encode()
        elif fault.error[0]:
            payload = json.dumps(self.error(fault.status, *fault.error)).encode()
        else:
            payload = fault.body.encode() if isinstance(fault.body, str) else fault.body
        response = web.StreamResponse(status=fault.status, headers={"Content-Type": content_type, **fault.headers})
        if not streamed:
            response.content_length = len(payload)
        await response.prepare(request)
        await response.write(payload[: fault.cut] if fault.cut else payload)
        if fault.cut and request.transport is not None and not streamed:
            request.transport.close()
        else:
            await response.write_eof()
        return response

    @abstractmethod
    def aim(self, path: str, body: dict[str, Any]) -> tuple[str, bool]:
        """The model that is asked, and whether it should stream."""

    @abstractmethod
    def document(self, answer: Answer, model: str) -> dict[str, Any]: ...

    @abstractmethod
    def events(self, answer: Answer, model: str) -> list[bytes]: ...

    @abstractmethod
    def error(self, status: int, kind: str, message: str) -> dict[str, Any]: ...

    @abstractmethod
    def read(self, body: dict[str, Any], model: str) -> ModelRequest: ...


def _event(data: dict[str, Any], name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


class AnthropicServer(NativeServer):
    name = "anthropic"
    url_variable = "ANTHROPIC_BASE_URL"
    key_variable = "ANTHROPIC_API_KEY"

    def aim(self, path: str, body: dict[str, Any]) -> tuple[str, bool]:
        assert path == "/v1/messages"
        return body["model"], bool(body.get("stream"))

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        thinking = [{"type": "thinking", "thinking": text, "signature": sign} for text, sign in answer.thinking]
        text = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [{"type": "tool_use", "id": id, "name": name, "input": args} for id, name, args in answer.calls]
        return [*thinking, *text, *calls]

    def _stop(self, answer: Answer) -> str:
        names = {"length": "max_tokens", "filter": "refusal"}
        return names.get(answer.finish) or ("tool_use" if answer.calls else "end_turn")

    def document(self, answer: Answer, model: str) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": self._blocks(answer),
            "stop_reason": self._stop(answer),
            "stop_sequence": None,
            "usage": {
                "input_tokens": answer.sent - answer.cached - answer.into_cache,
                "cache_read_input_tokens": answer.cached,
                "cache_creation_input_tokens": answer.into_cache,
                "output_tokens": answer.written,
            },
        }

    def events(self, answer: Answer, model: str) -> list[bytes]:
        whole = self.document(answer, model)
        begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(whole["content"]):
            match block["type"]:
                case "text":
                    empty = {"type": "text", "text": ""}
                    half = len(block["text"]) // 2
                    pieces = [block["text"][:half], block["text"][half:]]
                    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
                case "thinking":
                    empty = {"type": "thinking", "thinking": "", "signature": ""}
                    deltas = [
                        {"type": "thinking_delta", "thinking": block["thinking"]},
                        {"type": "signature_delta", "signature": block["signature"]},
                    ]
                case _:
                    empty = {**block, "input": {}}
                    written = json.dumps(block["input"])
                    deltas = [{"type": "input_json_delta", "partial_json": p} for p in (written[:3], written[3:])]
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
            events.append({"type": "content_block_stop", "index": index})
        stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        usage = {"output_tokens": answer.written}
        events.append({"type": "message_delta", "delta": stop, "usage": usage})
        events.append({"type": "message_stop"})
        return [_event(event, event["type"]) for event in events]

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def read(self, body: dict[str, Any], model: str) -> ModelRequest:
        messages: list[Message] = []
        system = body.get("system", [])
        leading = [{"text": system}] if isinstance(system, str) else system
        messages.extend(SystemMessage(text=block["text"]) for block in leading)
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                calls = tuple(
                    ToolCall(id=b["id"], name=b["name"], arguments=b["input"])
                    for b in blocks
                    if b["type"] == "tool_use"
                )
                text = "".join(b["text"] for b in blocks if b["type"] == "text")
                messages.append(AssistantMessage(text=text, tool_calls=calls))
                continue
            for block in blocks:
                if block["type"] == "tool_result":
                    inner = block["content"]
                    said = inner if isinstance(inner, str) else "".join(b["text"] for b in inner)
                    messages.append(
                        ToolMessage(
                            call_id=block["tool_use_id"],
                            name=_name_of(messages, block["tool_use_id"]),
                            content=said,
                            ok=not block.get("is_error"),
                        )
                    )
                else:
                    messages.append(UserMessage(text=block["text"]))
        tools = [(tool["name"], tool.get("description", ""), tool["input_schema"]) for tool in body.get("tools", [])]
        return _request(model, messages, tools)


class GoogleServer(NativeServer):
    name = "google"
    url_variable = "GOOGLE_BASE_URL"
    key_variable = "GEMINI_API_KEY"

    def aim(self, path: str, body: dict[str, Any]) -> tuple[str, bool]:
        assert path.startswith("/v1beta/models/")
        model, _, method = path.rpartition("/")[2].partition(":")
        return model, method == "streamGenerateContent"

    def _parts(self, answer: Answer) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"text": text, "thought": True} for text, _ in answer.thinking]
        if answer.text:
            parts.append({"text": answer.text})
        signatures = [signature for _, signature in answer.thinking]
        for id, name, args in answer.calls:
            part: dict[str, Any] = {"functionCall": {"id": id, "name": name, "args": args}}
            if signatures:
                part["thoughtSignature"] = signatures.pop(0)
            parts.append(part)
        return parts

    def _document(self, answer: Answer, model: str, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if last:
            names = {"length": "MAX_TOKENS", "filter": "SAFETY"}
            candidate["finishReason"] = names.get(answer.finish, "STOP")
        return {
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": answer.sent,
                "cachedContentTokenCount": answer.cached,
                "candidatesTokenCount": answer.written,
                "totalTokenCount": answer.sent + answer.written,
            },
            "modelVersion": model,
            "responseId": "r-1",
        }

    def document(self, answer: Answer, model: str) -> dict[str, Any]:
        return self._document(answer, model, self._parts(answer), last=True)

    def events(self, answer: Answer, model: str) -> list[bytes]:
        parts: list[dict[str, Any]] = []
        for part in self._parts(answer):
            if "text" in part and not part.get("thought"):
                half = len(part["text"]) // 2
                parts += [{"text": part["text"][:half]}, {"text": part["text"][half:]}]
            else:
                parts.append(part)
        last = len(parts) - 1
        return [_event(self._document(answer, model, [part], last=number == last)) for number, part in enumerate(parts)]

    def error(self, status: int, kind: str, message: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": kind}}

    def read(self, body: dict[str, Any], model: str) -> ModelRequest:
        messages: list[Message] = [
            SystemMessage(text=part["text"]) for part in body.get("systemInstruction", {}).get("parts", [])
        ]
        for content in body["contents"]:
            if content["role"] == "model":
                calls = tuple(
                    ToolCall(
                        id=p["functionCall"]["id"], name=p["functionCall"]["name"], arguments=p["functionCall"]["args"]
                    )
                    for p in content["parts"]
                    if "functionCall" in p
                )
                text = "".join(p.get("text", "") for p in content["parts"] if not p.get("thought"))
                messages.append(AssistantMessage(text=text, tool_calls=calls))
                continue
            for part in content["parts"]:
                if "functionResponse" in part:
                    given = part["functionResponse"]
                    said = given["response"].get("return_value", given["response"])
                    messages.append(
                        ToolMessage(
                            call_id=given["id"],
                            name=given["name"],
                            content=said if isinstance(said, str) else json.dumps(said),
                        )
                    )
                else:
                    messages.append(UserMessage(text=part["text"]))
        tools = [
            (tool["name"], tool.get("description", ""), tool["parameters_json_schema"])
            for group in body.get("tools", [])
            for tool in group["functionDeclarations"]
        ]
        return _request(model, messages, tools)


def _name_of(messages: list[Message], call_id: str) -> str:
    calls = {c.id: c.name for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls}
    return calls[call_id]


def _request(model: str, messages: list[Message], tools: list[tuple[str, str, dict[str, Any]]]) -> ModelRequest:
    """A request of ours, with the tool that takes a structured answer told apart."""
    output = next((tool for tool in tools if tool[0].startswith("give_") and tool[0] != "give_up"), None)
    return ModelRequest(
        model=model,
        messages=tuple(messages),
        tools=tuple(
            ToolSpec(name=name, description=about, parameters=schema)
            for name, about, schema in tools
            if output is None or name != output[0]
        ),
        output=None if output is None else OutputSpec(name=output[0].removeprefix("give_"), schema=output[2]),
    )


def answered_by(models: Models) -> Callable[[ModelRequest], Awaitable[Serving]]:
    """A script that has another model answer every request."""

    async def answer(request: ModelRequest) -> Serving:
        reply: ModelReply = await models.ask(request)
        if request.output is not None and isinstance(reply.value, dict):
            return Answer(calls=(("answer_1", f"give_{request.output.name}", reply.value),))
        calls = tuple((call.id, call.name, call.arguments or {}) for call in reply.message.tool_calls)
        return Answer(text=reply.message.text, calls=calls)

    return answer


SERVERS = {"anthropic": AnthropicServer, "google": GoogleServer}
MODELS = {"anthropic": "anthropic:claude-haiku-5-5", "google": "google:gemini-3.5-flash-lite"}
