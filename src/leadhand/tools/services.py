"""The public services of the built-in tools: addresses, rate limits, and how long answers are cached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from leadhand.core.tool import Source

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
