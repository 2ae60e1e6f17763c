"""The public services of the built-in tools: addresses, rate limits, and how long answers are cached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from leadhand.core.tool import Source

OPEN_STREET_MAP = Source(title="© OpenStreetMap contributors", url="https://www.openstreetmap.org/copyright")
"""The credit that the Open Database License requires."""

_MINUTE = 60.0
_DAY = 24 * 60 * _MINUTE


class Service(NamedTuple):
    """The rules of one service.

    ``seconds_between`` is the minimum time between two requests of all processes that share this store (0: no limit).
    ``kept_s`` is how long a successful response is cached. The environment variable ``setting`` names another server,
    ``key`` is the variable of the API key that requests carry in the header ``key_header``.
    """

    title: str
    setting: str
    seconds_between: float
    kept_s: float
    key: str = ""
    key_header: str = ""


SERVICES: Mapping[str, Service] = {
    # open-meteo.com/en/terms: free for non-commercial use; 600 a minute, 5,000 an hour, 10,000 a day.
    "open-meteo": Service(
        title="Open-Meteo", setting="LEADHAND_OPEN_METEO_URL", seconds_between=0, kept_s=15 * _MINUTE
    ),
    "open-meteo-geocoding": Service(
        title="Open-Meteo geocoding", setting="LEADHAND_OPEN_METEO_GEOCODING_URL", seconds_between=0, kept_s=30 * _DAY
    ),
    # operations.osmfoundation.org/policies/nominatim: at most 1 a second for the whole application, results cached.
    "nominatim": Service(title="Nominatim", setting="LEADHAND_NOMINATIM_URL", seconds_between=1, kept_s=30 * _DAY),
    # photon.komoot.io: "be fair", without a number: kept like Nominatim.
    "photon": Service(title="Photon", setting="LEADHAND_PHOTON_URL", seconds_between=1, kept_s=30 * _DAY),
    # routing.openstreetmap.de (FOSSGIS): 1 a second, an identifying User-Agent.
    "valhalla": Service(title="Valhalla", setting="LEADHAND_VALHALLA_URL", seconds_between=1, kept_s=_DAY),
    "osrm": Service(title="OSRM", setting="LEADHAND_OSRM_URL", seconds_between=1, kept_s=_DAY),
    "tavily": Service(
        title="Tavily",
        setting="LEADHAND_TAVILY_URL",
        seconds_between=0,
        kept_s=60 * _MINUTE,
        key="TAVILY_API_KEY",
        key_header="Authorization",
    ),
    # api-dashboard.search.brave.com: 1 a second in the free plan.
    "brave": Service(
        title="Brave Search",
        setting="LEADHAND_BRAVE_URL",
        seconds_between=1,
        kept_s=60 * _MINUTE,
        key="BRAVE_API_KEY",
        key_header="X-Subscription-Token",
    ),
}
"""The rules by the service name that callers of :class:`~leadhand.ports.Web` use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUrls:
    """Base URLs without a slash at the end; each can be pointed to a server of your own.

    The public OSRM demo answers requests for walks with drives, so walking and cycling use other servers (FOSSGIS).
    """

    open_meteo: str = "https://api.open-meteo.com"
    open_meteo_geocoding: str = "https://geocoding-api.open-meteo.com"
    valhalla: str = "https://valhalla1.openstreetmap.de"
    osrm: str = "https://router.project-osrm.org"
    osrm_foot: str = "https://routing.openstreetmap.de/routed-foot"
    osrm_bicycle: str = "https://routing.openstreetmap.de/routed-bike"
    nominatim: str = "https://nominatim.openstreetmap.org"
    photon: str = "https://photon.komoot.io"
    tavily: str = "https://api.tavily.com"
    brave: str = "https://api.search.brave.com"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> ServiceUrls:
        """Return the defaults, overridden by ``LEADHAND_<FIELD>_URL`` (for example ``LEADHAND_OSRM_FOOT_URL``)."""
        said = os.environ if environment is None else environment
        names = {field.name: f"LEADHAND_{field.name.upper()}_URL" for field in fields(cls)}
        return cls(**{name: said[key].rstrip("/") for name, key in names.items() if said.get(key, "").strip()})
