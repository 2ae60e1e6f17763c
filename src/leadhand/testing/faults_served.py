"""Each fault of ``leadhand.testing.faults`` as a chat-completions server shows it."""

from __future__ import annotations

from collections.abc import Callable

from . import served
from .faults import FAULTS, Fault
from .served import Served

_HALF = "an answer in several words that is cut"

_SERVED: dict[str, Callable[[], Served]] = {
    "rate_limited": served.rate_limited,
    "rate_limited_seconds": lambda: served.rate_limited(7),
    "rate_limited_date": lambda: served.rate_limited(90, as_date=True),
    "out_of_quota": served.out_of_quota,
    "bad_key": lambda: served.status(401, "Incorrect API key provided", kind="invalid_api_key"),
    "forbidden": lambda: served.status(403, "Your key may not use this model", kind="permission_denied"),
    "unknown_model": lambda: served.status(404, "The model `x` does not exist", kind="model_not_found"),
    "web_page": served.web_page,
    "too_long_openai": lambda: served.too_long("openai"),
    "too_long_vllm": lambda: served.too_long("vllm"),
    "too_long_llamacpp": lambda: served.too_long("llama.cpp"),
    "too_long_ollama": lambda: served.too_long("ollama"),
    "too_long_openrouter": lambda: served.too_long("openrouter"),
    "too_large": lambda: served.status(413, "Payload Too Large"),
    "bad_request": lambda: served.status(400, "messages[0].content is wrong", kind="invalid_value"),
    "http_500": lambda: served.status(500, "The server had an error"),
    "http_502": lambda: served.web_page(502),
    "http_503": lambda: served.status(503, "Loading model"),
    "http_529": lambda: served.status(529, "Overloaded", kind="overloaded_error"),
    "truncated": served.truncated,
    "broken_off": served.broken_off,
    "hang_up": served.hang_up,
    "empty_body": served.empty_body,
    "empty_answer": served.empty,
    "no_choices": served.no_choices,
    "error_inside": served.stream_error,
    "cut_short": served.cut_short,
    "hang": served.hang,
    "hang_body": served.hang_body,
    "drip": lambda: served.drip("x" * 100_000, pause_s=0.01),
    "huge": served.huge,
    "endless": served.endless,
    "cut_stream": lambda: served.cut_stream(_HALF),
    "broken_stream": lambda: served.broken_off(_HALF),
    "stream_error": lambda: served.stream_error(_HALF),
    "stream_hang": lambda: served.hang_body(_HALF),
    "stream_cut_short": lambda: served.cut_short(_HALF),
}


def served_fault(fault: Fault | str) -> Served:
    """Return the answer of a chat-completions server that has ``fault``. Raises KeyError for an unknown fault."""
    return _SERVED[str(fault)]()


assert {known.name for known in FAULTS} == set(_SERVED), "every fault has a shape here"
