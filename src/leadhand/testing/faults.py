"""The responses of a scripted model server, normal answers and faults, as plain values.

:data:`FAULTS` are the faults of model servers by name, each with the failure class that an adapter must report for it.
``serve`` is the answer of a chat-completions server that has the fault
(:class:`~leadhand.testing.model_server.ScriptedServer`); a server of another protocol gives each fault its own body.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from typing import Any

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.tool import ToolSpec
from leadhand.core.value import object_of, objects_of, text_of
from leadhand.models.answers import decode_object
from leadhand.ports import ModelError, Models
from leadhand.ports.models import ModelRequest, OutputSpec

from .steps import Answer, Step, says, step_of


class Way(StrEnum):
    """How a body reaches the client."""

    WHOLE = "whole"
    HANG = "hang"
    """Never."""
    DRIP = "drip"
    """In pieces, with pauses."""
    BREAK_OFF = "break_off"
    """Half of it, then the connection is closed."""
    CUT_STREAM = "cut_stream"
    """As a stream of events that ends without saying why."""
    STREAM_ERROR = "stream_error"
    """Half of a stream, then an event that holds an error."""
    HANG_BODY = "hang_body"
    """The headers, and half of a stream if it is one; then nothing more."""
    HANG_UP = "hang_up"
    """The connection is closed before the answer."""
    ENDLESS = "endless"
    """Without end, as fast as the client reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One HTTP response: ``status``, ``headers`` and ``body``, and the way it is sent.

    ``step`` instead of a body is an answer in the requested form. ``pause_s`` is the time between two pieces of a drip.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""
    step: Step | None = None
    way: Way = Way.WHOLE
    pause_s: float = 0.0
    content_type: str = "application/json"


Serving = Answer | Served
Servings = Serving | Callable[[dict[str, Any]], Serving | Awaitable[Serving]]
"""An answer, or a function that makes one from the request's JSON; it may be asynchronous."""


def status(code: int, message: str = "", *, kind: str = "", headers: Mapping[str, str] | None = None) -> Served:
    """An error in the usual shape; ``kind`` is its ``code`` and ``type``."""
    error = {"message": message or f"scripted {code}", "type": kind or "scripted_error", "code": kind or None}
    return Served(status=code, headers=dict(headers or {}), body=json.dumps({"error": error}))


def rate_limited(retry_after_s: float | None = None, *, as_date: bool = False) -> Served:
    """429, with Retry-After if it is given: in seconds, or ``as_date`` (whole seconds from now)."""
    headers: dict[str, str] = {}
    if retry_after_s is not None:
        moment = datetime.now(UTC) + timedelta(seconds=retry_after_s)
        headers["Retry-After"] = format_datetime(moment, usegmt=True) if as_date else f"{retry_after_s:g}"
    return status(429, "Rate limit reached", kind="rate_limit_exceeded", headers=headers)


def refuses(feature: str) -> Served:
    """400: the server does not support ``feature`` (``response_format``, ``tools``, ``stream_options``, …)."""
    message = f"Unsupported parameter: {feature} is not supported with this model"
    return status(400, message, kind="unsupported_parameter")


def sent(way: Way, answer: Answer = "half an answer", *, pause_s: float = 0.01) -> Served:
    """Return a normal answer that is sent in another way; ``pause_s`` is the time between two pieces of a drip.

    Without a stream, what would be an error in it is a 200 that holds the error.
    """
    error = {"message": "Provider returned error", "code": 502}
    body = json.dumps({"error": error}) if way is Way.STREAM_ERROR else ""
    return Served(step=step_of(answer), body=body, way=way, pause_s=pause_s)


def web_page(code: int = 200) -> Served:
    """A web page: the wrong address, or a proxy."""
    return Served(status=code, body="<!DOCTYPE html><html><body>Welcome</body></html>", content_type="text/html")


def completion(step: Step, body: Mapping[str, Any]) -> dict[str, Any]:
    """``step`` as a chat completion for a request; its text goes into the function that the request forces, if any."""
    forced = _forced(body)
    if forced and step.text and not step.calls:
        step = replace(step, text="", calls=((forced, step.text),))
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    made = sum(len(objects_of(earlier.get("tool_calls"))) for earlier in objects_of(body.get("messages")))
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
        for call in step.tool_calls(made)
    ]
    if calls:
        message["tool_calls"] = calls
    finish_reason = step.finish_reason or ("tool_calls" if calls else "stop")
    document: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if step.usage is not None:
        sent, written = step.usage.input_tokens, step.usage.output_tokens
        document["usage"] = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
    return document


def _forced(body: Mapping[str, Any]) -> str:
    """The name of the function that a request forces, empty if it forces none."""
    return text_of(object_of(object_of(body.get("tool_choice")).get("function")).get("name"))


_STATUS_OF = {
    FailureClass.TRANSIENT: 500,
    FailureClass.RATE_LIMITED: 429,
    FailureClass.UNAVAILABLE: 401,
    FailureClass.TOO_LARGE: 413,
}


def refusal(failure: Failure) -> Served:
    """Return the HTTP error that is closest to a scripted failure."""
    headers = {} if failure.retry_after_s is None else {"Retry-After": f"{failure.retry_after_s:g}"}
    return status(_STATUS_OF.get(failure.class_, 400), failure.message, kind=failure.type, headers=headers)


def served_by(models: Models, model: str = "offline") -> Callable[[dict[str, Any]], Awaitable[Serving]]:
    """Return a script that lets another model answer, for example a whole run over HTTP with the offline model."""

    async def answer(body: dict[str, Any]) -> Serving:
        try:
            reply = await models.ask(request_of(body, model))
        except ModelError as error:
            return refusal(error.failure)
        message = reply.message
        calls = tuple(
            (call.name, call.raw if call.arguments is None else call.arguments) for call in message.tool_calls
        )
        return Step(text=message.text, calls=calls, usage=reply.usage, finish_reason=reply.finish_reason)

    return answer


def request_of(body: Mapping[str, Any], model: str) -> ModelRequest:
    """Return the model request in the body of a chat completions call."""
    tools = [object_of(tool.get("function")) for tool in objects_of(body.get("tools"))]
    forced = _forced(body)
    schema = object_of(object_of(body.get("response_format")).get("json_schema"))
    output: OutputSpec | None = None
    if schema:
        output = OutputSpec(name=text_of(schema.get("name")), schema=object_of(schema.get("schema")))
    elif forced:
        schemas = [object_of(tool.get("parameters")) for tool in tools if tool.get("name") == forced]
        output = OutputSpec(name=forced.removeprefix("give_"), schema=schemas[0] if schemas else {})
    names: dict[str, str] = {}
    return ModelRequest(
        model=model,
        messages=tuple(_message(message, names) for message in objects_of(body.get("messages"))),
        tools=tuple(
            ToolSpec(
                name=text_of(tool.get("name")),
                description=text_of(tool.get("description")),
                parameters=object_of(tool.get("parameters")),
            )
            for tool in tools
            if tool.get("name") != forced
        ),
        output=output,
        max_tokens=int(body.get("max_tokens") or body.get("max_completion_tokens") or 2_000),
    )


def _message(wire: dict[str, Any], names: dict[str, str]) -> Message:
    """One message; ``names`` gathers which tool each call was of."""
    text = text_of(wire.get("content"))
    match wire.get("role"):
        case "system" | "developer":
            return SystemMessage(text=text)
        case "tool":
            key = text_of(wire.get("tool_call_id"))
            # The protocol does not say whether a call succeeded; our tool messages of failed calls are errors in JSON.
            return ToolMessage(call_id=key, name=names.get(key, ""), content=text, ok=not text.startswith('{"error"'))
        case "assistant":
            return AssistantMessage(text=text, tool_calls=tuple(_calls(wire, names)))
        case _:
            return UserMessage(text=text)


def _calls(wire: dict[str, Any], names: dict[str, str]) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for call in objects_of(wire.get("tool_calls")):
        function = object_of(call.get("function"))
        key, name, raw = text_of(call.get("id")), text_of(function.get("name")), text_of(function.get("arguments"))
        names[key] = name
        calls.append(ToolCall(id=key, name=name, arguments=decode_object(raw or "{}"), raw=raw))
    return calls


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its ``name``, what the server does, and the class of the failure that an adapter must report.

    ``retry_after_s`` is the requested wait, in seconds, which the failure must carry. ``streamed`` faults need a
    streamed answer, half of which arrives. ``slow`` faults end only by the adapter's own limits.
    """

    name: str
    what: str
    class_: FailureClass
    serve: Callable[[], Served]
    retry_after_s: float | None = None
    streamed: bool = False
    slow: bool = False

    def __str__(self) -> str:
        return self.name


_T, _U, _L, _I = FailureClass.TRANSIENT, FailureClass.UNAVAILABLE, FailureClass.TOO_LARGE, FailureClass.INVALID
_R = FailureClass.RATE_LIMITED
_HALF = "an answer in several words that is cut"
_TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
_BLANK = '{"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}]}'
_CUT_SHORT = Served(step=Step(text=_HALF, finish_reason="length"))


def _error(code: int, message: str, kind: str = "") -> Callable[[], Served]:
    return lambda: status(code, message, kind=kind)


def _sent(way: Way, text: str = _HALF) -> Callable[[], Served]:
    return lambda: sent(way, text)


def _truncated() -> Served:
    return Served(body=json.dumps(completion(says(_HALF), {}))[:-40])


FAULTS: tuple[Fault, ...] = (
    Fault("rate_limited", "429", _R, rate_limited),
    Fault("rate_limited_seconds", "429, Retry-After: 7", _R, lambda: rate_limited(7), 7.0),
    Fault("rate_limited_date", "429, Retry-After: a date", _R, lambda: rate_limited(90, as_date=True), 90.0),
    Fault("out_of_quota", "429: a used-up quota", _U, _error(429, "You exceeded your quota", "insufficient_quota")),
    Fault("bad_key", "401", _U, _error(401, "Incorrect API key provided", "invalid_api_key")),
    Fault("forbidden", "403", _U, _error(403, "Your key may not use this model", "permission_denied")),
    Fault("unknown_model", "404: no such model", _U, _error(404, "The model `x` does not exist", "model_not_found")),
    Fault("web_page", "a web page with 200", _U, web_page),
    Fault("too_long", "400: the window is too small", _L, _error(400, _TOO_LONG, "context_length_exceeded")),
    Fault("too_large", "413", _L, _error(413, "Payload Too Large")),
    Fault("bad_request", "400: an invalid request", _I, _error(400, "messages[0].content is wrong", "invalid_value")),
    Fault("http_500", "500", _T, _error(500, "The server had an error")),
    Fault("http_502", "502 with a gateway's web page", _T, lambda: web_page(502)),
    Fault("http_503", "503", _T, _error(503, "Loading model")),
    Fault("http_529", "529: overloaded", _T, _error(529, "Overloaded", "overloaded_error")),
    Fault("truncated", "200 with half a JSON document", _T, _truncated),
    Fault("broken_off", "the connection is cut in the middle of a body", _T, _sent(Way.BREAK_OFF)),
    Fault("hang_up", "the connection is closed without an answer", _T, lambda: Served(way=Way.HANG_UP)),
    Fault("empty_body", "200 with an empty body", _T, Served),
    Fault("empty_answer", "an answer without text or calls", _T, lambda: Served(body=_BLANK)),
    Fault("no_choices", "an answer without a choice", _T, lambda: Served(body='{"id": "x", "choices": []}')),
    Fault("error_inside", "200 with an error in place of an answer", _T, _sent(Way.STREAM_ERROR)),
    Fault("cut_short", "an answer that stopped at the limit of its tokens", _I, lambda: _CUT_SHORT),
    Fault("hang", "no answer, not even headers", _T, lambda: Served(way=Way.HANG), slow=True),
    Fault("hang_body", "headers, and no body", _T, _sent(Way.HANG_BODY), slow=True),
    Fault("drip", "an answer that arrives too slowly for the deadline", _T, _sent(Way.DRIP, "x" * 100_000), slow=True),
    Fault("huge", "an answer of more than 10 MB", _I, lambda: Served(step=says("x" * 10_500_000))),
    Fault("endless", "an answer that never ends", _I, lambda: Served(step=says("x" * 5_000), way=Way.ENDLESS)),
    Fault("cut_stream", "a stream that ends without saying why", _T, _sent(Way.CUT_STREAM), streamed=True),
    Fault("broken_stream", "a stream whose connection is cut", _T, _sent(Way.BREAK_OFF), streamed=True),
    Fault("stream_error", "a stream that ends in an error", _T, _sent(Way.STREAM_ERROR), streamed=True),
    Fault("stream_hang", "a stream that stops sending", _T, _sent(Way.HANG_BODY), streamed=True, slow=True),
    Fault("stream_cut_short", "a stream that stopped at its limit of tokens", _I, lambda: _CUT_SHORT, streamed=True),
)
"""Every fault that an adapter must turn into one classed failure."""


def fault(name: str) -> Fault:
    """Return the fault of that name. Raises KeyError if it is unknown."""
    return {known.name: known for known in FAULTS}[name]
