"""The public services of the built-in tools: their rules, and what their answers mean.

=====================  ============  ==========================================================
answer                 class         type
=====================  ============  ==========================================================
401, 403, 404, 405     unavailable   ``http_403``: our key, User-Agent or the base URL is refused
429                    rate_limited  ``http_429``, with Retry-After
408, 5xx               transient     ``http_503``
any other 3xx or 4xx   invalid       ``http_400``, with the reason the service gave
2xx with other JSON    transient     ``bad_body``
=====================  ============  ==========================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.tool import Source
from leadhand.core.value import Json, object_of, text_of
from leadhand.ports import WebReply
from leadhand.ports.retry_after import retry_after

_T = TypeVar("_T")

OPEN_STREET_MAP = Source(title="© OpenStreetMap contributors", url="https://www.openstreetmap.org/copyright")
"""The credit that the Open Database License requires."""

_MINUTE = 60.0
_DAY = 24 * 60 * _MINUTE


class Service(NamedTuple):
    """The rules of one service, and its address without a slash at the end.

    ``seconds_between`` is the minimum time between two requests of all processes that share this store (0: no limit).
    ``kept_s`` is how long a successful response is cached. ``key`` is the environment variable of the API key that
    requests carry in the header ``key_header``.
    """

    title: str
    url: str
    seconds_between: float
    kept_s: float
    key: str = ""
    key_header: str = ""


SERVICES: Mapping[str, Service] = {
    # open-meteo.com/en/terms: free for non-commercial use; 600 a minute, 5,000 an hour, 10,000 a day.
    "open-meteo": Service("Open-Meteo", "https://api.open-meteo.com", seconds_between=0, kept_s=15 * _MINUTE),
    # operations.osmfoundation.org/policies/nominatim: at most 1 a second for the whole application, results cached.
    "nominatim": Service("Nominatim", "https://nominatim.openstreetmap.org", seconds_between=1, kept_s=30 * _DAY),
    # routing.openstreetmap.de (FOSSGIS): 1 a second, an identifying User-Agent.
    "valhalla": Service("Valhalla", "https://valhalla1.openstreetmap.de", seconds_between=1, kept_s=_DAY),
    "tavily": Service(
        "Tavily",
        "https://api.tavily.com",
        seconds_between=0,
        kept_s=60 * _MINUTE,
        key="TAVILY_API_KEY",
        key_header="Authorization",
    ),
    # api-dashboard.search.brave.com: 1 a second in the free plan.
    "brave": Service(
        "Brave Search",
        "https://api.search.brave.com",
        seconds_between=1,
        kept_s=60 * _MINUTE,
        key="BRAVE_API_KEY",
        key_header="X-Subscription-Token",
    ),
}
"""The rules by the service name that callers of :class:`~leadhand.ports.Web` use."""


def setting(service: str) -> str:
    """Return the environment variable that names another server of a service: ``LEADHAND_OPEN_METEO_URL``."""
    return f"LEADHAND_{service.replace('-', '_').upper()}_URL"


def base_url(service: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the address of a service, without a slash at the end: from its setting, else the public one."""
    said = (os.environ if environment is None else environment).get(setting(service), "")
    return said.strip().rstrip("/") or SERVICES[service].url


class OfflineWeb:
    """:class:`~leadhand.ports.Web` of a run without a network: every call fails."""

    async def get(self, service: str, url: str, params: Mapping[str, str | int | float]) -> WebReply:
        """Raise ``ToolError`` (``offline``)."""
        how = "run without --offline; a tool can check context.offline"
        raise unavailable(f"{service} cannot be reached: the run is offline", "offline", how)

    async def post(self, service: str, url: str, body: Json) -> WebReply:
        """Raise as :meth:`get` does."""
        return await self.get(service, url, {})


def unavailable(message: str, type: str, how: str, *, not_made: bool = False) -> ToolError:
    """Return the error for what is missing or cannot be used, so that a retry would not help."""
    return ToolError(message, type=type, class_=FailureClass.UNAVAILABLE, next_action=how, not_made=not_made)


def class_of(status: int, otherwise: FailureClass) -> FailureClass:
    """Return the class of an HTTP status that is a failure."""
    if status == 429:
        return FailureClass.RATE_LIMITED
    return FailureClass.TRANSIENT if status >= 500 or status == 408 else otherwise


def answered(service: str, reply: WebReply, read: Callable[[Json], _T], reason: str) -> _T:
    """Return what ``read`` makes of the body of a successful reply. ``reason`` is the field of the body of another one
    that says why. Raises ToolError, by the table of this module."""
    rules, status = SERVICES[service], reply.status
    if 200 <= status < 300:
        try:
            return read(reply.body)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            said = f"{rules.title} answered {status} with an unexpected body: {' '.join(reply.text.split())[:80]}"
            raise ToolError(said, type="bad_body", class_=FailureClass.TRANSIENT) from error
    is_refused = status in (401, 403, 404, 405)
    class_ = class_of(status, FailureClass.UNAVAILABLE if is_refused else FailureClass.INVALID)
    how = f"correct or unset {rules.key}" if rules.key else f"see the usage policy of {rules.title}"
    how += f", or set {setting(service)} to another server"
    why = text_of(object_of(reply.body).get(reason))[:300]
    raise ToolError(
        f"{rules.title} answered {status}" + (f": {why}" if why else ""),
        type=f"http_{status}",
        class_=class_,
        next_action=how if is_refused else "",
        retry_after_s=retry_after(reply.headers, datetime.now(UTC)) if status == 429 else None,
    )
