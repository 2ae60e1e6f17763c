"""Look up towns and sights in the packaged data, which is searched as text and never parsed as a whole.

Parsing 34,000 rows would take a quarter of a second. ``scripts/build-places`` describes the lines.
"""

from __future__ import annotations

import os
import zlib
from functools import cache, lru_cache

from .geography import Place, fold

_DATA = os.path.join(os.path.dirname(__file__), "data")
_GZIP = 31  # zlib's code for "with a gzip header"; importing the gzip module costs more than unpacking

SIGHT_IMPORTANCE = 0.7
"""The approximate Nominatim importance of a well-known sight."""


def towns_named(name: str) -> list[Place]:
    """Return towns with this name, in any known spelling, the most populous first."""
    return _towns(f"|{fold(name)}|")


def towns_beginning(name: str) -> list[Place]:
    """Return towns with a name that begins with this text, the most populous first."""
    return _towns(f"|{fold(name)}")


def sights_named(name: str) -> list[Place]:
    """Return airports, stations and sights with this name."""
    return [_sight(line) for line in _lines(_sights(), f"|{fold(name)}|") if fold(name)]


def known_at(latitude: float, longitude: float) -> Place | None:
    """Return the town or sight at exactly these coordinates, else None."""
    at = f"\t{latitude:.4f}\t{longitude:.4f}\t"
    towns = (_town(line) for line in _lines(_text(), at))
    return next(towns, None) or next((_sight(line) for line in _lines(_sights(), at)), None)


@cache
def _text() -> bytes:
    with open(os.path.join(_DATA, "places.tsv.gz"), "rb") as packed:
        return zlib.decompress(packed.read(), _GZIP)


@cache
def _sights() -> bytes:
    with open(os.path.join(_DATA, "sights.tsv"), "rb") as file:
        return file.read()


@lru_cache(maxsize=64)
def _lines(text: bytes, part: str) -> tuple[str, ...]:
    """Return the lines that contain ``part``, without duplicates."""
    wanted, lines = part.encode(), list[str]()
    found = text.find(wanted)
    while found >= 0:
        end = text.find(b"\n", found)
        lines.append(text[text.rfind(b"\n", 0, found) + 1 : end].decode())
        found = text.find(wanted, end)
    return tuple(lines)


def _towns(part: str) -> list[Place]:
    if not part.strip("|"):
        return []
    return sorted((_town(line) for line in _lines(_text(), part)), key=lambda town: -(town.population or 0))


def _town(line: str) -> Place:
    keys, name, code, region, latitude, longitude, population, timezone = line.split("\t")
    return Place(
        name=name or keys[1 : keys.index("|", 1)].title(),
        latitude=float(latitude),
        longitude=float(longitude),
        region=_named(f"^{code}.{region}"),
        country=_named(f"={code}"),
        country_code=code,
        timezone=timezone,
        population=int(population),
        kind="PPL",
        sample=True,
    )


def _sight(line: str) -> Place:
    _, name, city, code, latitude, longitude, kind = line.split("\t")
    town = next((town for town in towns_named(city) if town.country_code == code), None)
    return Place(
        name=name,
        latitude=float(latitude),
        longitude=float(longitude),
        city=city,
        region=town.region if town else "",
        country=_named(f"={code}"),
        country_code=code,
        timezone=town.timezone if town else "",
        importance=SIGHT_IMPORTANCE,
        kind=kind,
        sample=True,
    )


@cache
def _named(key: str) -> str:
    """Return the name of a country (``=FR``) or of a region (``^US.TX``), "" if the data has none."""
    text, wanted = _text(), f"\n{key}\t".encode()
    found = text.find(wanted)
    return text[found + len(wanted) : text.find(b"\n", found + 1)].decode() if found >= 0 else ""
