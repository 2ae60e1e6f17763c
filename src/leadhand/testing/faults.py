"""The faults of model servers by name, each with the failure class that an adapter must report for it.

``serve`` is the answer of a chat-completions server that has the fault
(:class:`~leadhand.testing.model_server.ScriptedServer`); a server of another protocol gives each fault its own body.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from leadhand.domain.errors import FailureClass

from .served import (
    TOO_LONG,
    Served,
    Way,
    broken_off,
    completion,
    cut_stream,
    drip,
    hang_body,
    rate_limited,
    status,
    stream_error,
    web_page,
)
from .steps import Step, says


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
_BLANK = '{"choices": [{"message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}]}'
_CUT_SHORT = Served(step=Step(text=_HALF, finish_reason="length"))


def _error(code: int, message: str, kind: str = "") -> Callable[[], Served]:
    return lambda: status(code, message, kind=kind)


def _too_long(words: str) -> Callable[[], Served]:
    return lambda: Served(status=400, body=json.dumps({"error": TOO_LONG[words]}))


def _truncated() -> Served:
    return Served(body=json.dumps(completion(says(_HALF), {}))[:-40])


FAULTS: tuple[Fault, ...] = (
    Fault("rate_limited", "429", _R, rate_limited),
    Fault("rate_limited_seconds", "429, Retry-After: 7", _R, lambda: rate_limited(7), 7.0),
    Fault("rate_limited_date", "429, Retry-After: a date", _R, lambda: rate_limited(90, as_date=True), 90.0),
    Fault(
        "out_of_quota",
        "429 for a used-up quota",
        _U,
        _error(429, "You exceeded your current quota, please check your plan", "insufficient_quota"),
    ),
    Fault("bad_key", "401", _U, _error(401, "Incorrect API key provided", "invalid_api_key")),
    Fault("forbidden", "403", _U, _error(403, "Your key may not use this model", "permission_denied")),
    Fault("unknown_model", "404: no such model", _U, _error(404, "The model `x` does not exist", "model_not_found")),
    Fault("web_page", "a web page with 200", _U, web_page),
    Fault("too_long_openai", "400: the window is too small, in OpenAI's words", _L, _too_long("openai")),
    Fault("too_long_vllm", "the same in vLLM's", _L, _too_long("vllm")),
    Fault("too_long_llamacpp", "the same in llama.cpp's", _L, _too_long("llama.cpp")),
    Fault("too_long_ollama", "the same in Ollama's", _L, _too_long("ollama")),
    Fault("too_long_openrouter", "the same in OpenRouter's", _L, _too_long("openrouter")),
    Fault("too_large", "413", _L, _error(413, "Payload Too Large")),
    Fault("bad_request", "400: an invalid request", _I, _error(400, "messages[0].content is wrong", "invalid_value")),
    Fault("http_500", "500", _T, _error(500, "The server had an error")),
    Fault("http_502", "502 with a gateway's web page", _T, lambda: web_page(502)),
    Fault("http_503", "503", _T, _error(503, "Loading model")),
    Fault("http_529", "529: overloaded", _T, _error(529, "Overloaded", "overloaded_error")),
    Fault("truncated", "200 with half a JSON document", _T, _truncated),
    Fault("broken_off", "the connection is cut in the middle of a body", _T, broken_off),
    Fault("hang_up", "the connection is closed without an answer", _T, lambda: Served(way=Way.HANG_UP)),
    Fault("empty_body", "200 with an empty body", _T, Served),
    Fault("empty_answer", "an answer without text or calls", _T, lambda: Served(body=_BLANK)),
    Fault("no_choices", "an answer without a choice", _T, lambda: Served(body='{"id": "x", "choices": []}')),
    Fault("error_inside", "200 with an error in place of an answer", _T, stream_error),
    Fault("cut_short", "an answer that stopped at the limit of its tokens", _I, lambda: _CUT_SHORT),
    Fault("hang", "no answer, not even headers", _T, lambda: Served(way=Way.HANG), slow=True),
    Fault("hang_body", "headers, and no body", _T, hang_body, slow=True),
    Fault("drip", "an answer that arrives too slowly for the deadline", _T, lambda: drip("x" * 100_000), slow=True),
    Fault("huge", "an answer of more than 10 MB", _I, lambda: Served(step=says("x" * 10_500_000))),
    Fault("endless", "an answer that never ends", _I, lambda: Served(step=says("x"), way=Way.ENDLESS)),
    Fault("cut_stream", "a stream that ends without saying why", _T, lambda: cut_stream(_HALF), streamed=True),
    Fault("broken_stream", "a stream whose connection is cut", _T, lambda: broken_off(_HALF), streamed=True),
    Fault("stream_error", "a stream that ends in an error", _T, lambda: stream_error(_HALF), streamed=True),
    Fault("stream_hang", "a stream that falls silent", _T, lambda: hang_body(_HALF), streamed=True, slow=True),
    Fault("stream_cut_short", "a stream that stopped at its limit of tokens", _I, lambda: _CUT_SHORT, streamed=True),
)
"""Every fault that an adapter must turn into one classed failure."""


def fault(name: str) -> Fault:
    """Return the fault of that name. Raises KeyError if it is unknown."""
    return {known.name: known for known in FAULTS}[name]


def served_fault(name: str) -> Served:
    """Return the answer of a chat-completions server with the fault of that name. Raises KeyError if it is unknown."""
    return fault(name).serve()
