"""Turn a service's answer into a typed value, or into an error of the right class.

=====================  ============  ==========================================================
answer                 class         type
=====================  ============  ==========================================================
401, 403, 404, 405     unavailable   ``http_403``: our User-Agent or the base URL is refused
429                    rate_limited  ``http_429``, with Retry-After
408, 5xx               transient     ``http_503``
any other 4xx          invalid       ``http_400``, with the reason the service gave
2xx with other JSON    transient     ``bad_body``
=====================  ============  ==========================================================
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.value import Json, object_of
from leadhand.ports import WebReply
from leadhand.ports.retry_after import retry_after

from .services import SERVICES, setting

T = TypeVar("T")

_ELSEWHERE = (FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.UNAVAILABLE)
"""Failures of the service, so another one may have an answer; the most temporary ones first."""


class Lenient(BaseModel):
    """The base of every response; unused fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


def failure(service: str, reply: WebReply, now: datetime, reason: str = "") -> ToolError:
    """Return the error for an unsuccessful response, by the table above. ``reason`` is the service's message."""
    rules, wait, action = SERVICES[service], None, ""
    if reply.status in (401, 403, 404, 405):
        class_ = FailureClass.UNAVAILABLE
        action = f"see the usage policy of {rules.title}, or set {setting(service)} to another server"
    elif reply.status == 429:
        class_, wait = FailureClass.RATE_LIMITED, retry_after(reply.headers, now)
    elif 400 <= reply.status < 500 and reply.status != 408:
        class_ = FailureClass.INVALID
    else:
        class_ = FailureClass.TRANSIENT
    said = f"{rules.title} answered {reply.status}" + (f": {reason}" if reason else "")
    return ToolError(said, type=f"http_{reply.status}", class_=class_, next_action=action, retry_after_s=wait)


def answered(service: str, reply: WebReply, now: datetime, reason: str) -> WebReply:
    """Return a successful response, else raise its :func:`failure` with the field ``reason`` of its body."""
    if 200 <= reply.status < 300:
        return reply
    raise failure(service, reply, now, text_of(reply.body, reason))


def bad_body(service: str, reply: WebReply) -> ToolError:
    """Return the error for a successful response whose body is not as documented."""
    start = " ".join(reply.text.split())[:80] or "no text"
    return ToolError(
        f"{SERVICES[service].title} answered {reply.status} with an unexpected body: {start}",
        type="bad_body",
        class_=FailureClass.TRANSIENT,
    )


def text_of(body: Json, name: str) -> str:
    """The first 300 characters of a text field of an error body; empty if it is missing."""
    said = object_of(body).get(name)
    return said[:300] if isinstance(said, str) else ""


def typed(read: Callable[[Json], T], service: str, reply: WebReply) -> T:
    """Return the body, validated by ``read``. Raises ``ToolError`` (``transient``, ``bad_body``) if it is invalid."""
    try:
        return read(reply.body)
    except ValidationError:
        raise bad_body(service, reply) from None


async def first_answer(*asks: Callable[[], Awaitable[T]]) -> T:
    """Return the answer of the first service that works; the next one is used only if the previous one fails.

    Raises the error of a service that rejects the question, else the one that is most likely temporary.
    """
    failures: list[ToolError] = []
    for ask in asks:
        try:
            return await ask()
        except ToolError as error:
            if error.failure.class_ not in _ELSEWHERE:
                raise
            failures.append(error)
    raise min(failures, key=lambda error: _ELSEWHERE.index(error.failure.class_))
