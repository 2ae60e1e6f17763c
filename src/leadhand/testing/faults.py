"""The faults of model servers by name, each with the failure class that an adapter must report for it.

It says nothing about a protocol: a server of one's own shape gives each fault its own body (that of
:class:`~leadhand.testing.model_server.ScriptedServer` are in ``leadhand.testing.faults_served``).
"""

from __future__ import annotations

from dataclasses import dataclass

from leadhand.domain.errors import FailureClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault: its ``name``, what the other side does, and the class of the failure that an adapter makes of it.

    ``retry_after_s`` is the wait it asks for, in seconds, which the failure must carry. ``streamed`` faults happen to
    an answer that somebody listens to, half of which has come. ``slow`` ones end only by the adapter's own limits.
    """

    name: str
    what: str
    class_: FailureClass
    retry_after_s: float | None = None
    streamed: bool = False
    slow: bool = False

    def __str__(self) -> str:
        return self.name


def _fault(name: str, what: str, class_: FailureClass, **more: float | bool) -> Fault:
    return Fault(
        name=name,
        what=what,
        class_=class_,
        retry_after_s=more.get("retry_after_s"),
        streamed=bool(more.get("streamed")),
        slow=bool(more.get("slow")),
    )


_T, _U, _L = FailureClass.TRANSIENT, FailureClass.UNAVAILABLE, FailureClass.TOO_LARGE

FAULTS: tuple[Fault, ...] = (
    _fault("rate_limited", "429", FailureClass.RATE_LIMITED),
    _fault("rate_limited_seconds", "429, Retry-After: 7", FailureClass.RATE_LIMITED, retry_after_s=7.0),
    _fault("rate_limited_date", "429, Retry-After: a date", FailureClass.RATE_LIMITED, retry_after_s=90.0),
    _fault("out_of_quota", "429 for a quota that is used up", _U),
    _fault("bad_key", "401", _U),
    _fault("forbidden", "403", _U),
    _fault("unknown_model", "404: no such model", _U),
    _fault("web_page", "a web page with 200", _U),
    _fault("too_long_openai", "400: the window is too small, in OpenAI's words", _L),
    _fault("too_long_vllm", "the same in vLLM's", _L),
    _fault("too_long_llamacpp", "the same in llama.cpp's", _L),
    _fault("too_long_ollama", "the same in Ollama's", _L),
    _fault("too_long_openrouter", "the same in OpenRouter's", _L),
    _fault("too_large", "413", _L),
    _fault("bad_request", "400 for a request that is wrong in itself", FailureClass.INVALID),
    _fault("http_500", "500", _T),
    _fault("http_502", "502 with a gateway's web page", _T),
    _fault("http_503", "503", _T),
    _fault("http_529", "529: overloaded", _T),
    _fault("truncated", "200 with half a JSON document", _T),
    _fault("broken_off", "the connection is cut in the middle of a body", _T),
    _fault("hang_up", "the connection is closed without an answer", _T),
    _fault("empty_body", "200 with an empty body", _T),
    _fault("empty_answer", "an answer without text or calls", _T),
    _fault("no_choices", "an answer without a choice", _T),
    _fault("error_inside", "200 with an error in place of an answer", _T),
    _fault("cut_short", "an answer that stopped at the limit of its tokens", FailureClass.INVALID),
    _fault("hang", "no answer, not even headers", _T, slow=True),
    _fault("hang_body", "headers, and no body", _T, slow=True),
    _fault("drip", "an answer that keeps coming, too slowly for the deadline", _T, slow=True),
    _fault("huge", "an answer of more than 10 MB", FailureClass.INVALID),
    _fault("endless", "an answer that never ends", FailureClass.INVALID),
    _fault("cut_stream", "a stream that ends without saying why", _T, streamed=True),
    _fault("broken_stream", "a stream whose connection is cut", _T, streamed=True),
    _fault("stream_error", "a stream that ends in an error", _T, streamed=True),
    _fault("stream_hang", "a stream that falls silent", _T, streamed=True, slow=True),
    _fault("stream_cut_short", "a stream that stopped at the limit of its tokens", FailureClass.INVALID, streamed=True),
)
"""Every fault that an adapter must turn into one classed failure."""


def fault(name: str) -> Fault:
    """Return the fault of that name. Raises KeyError if it is unknown."""
    return {known.name: known for known in FAULTS}[name]
