"""Look up towns and sights in the packaged data, which is searched as text and never parsed as a whole.

Parsing 34,000 rows would take a quarter of a second. ``scripts/build-places`` describes the lines.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator
from functools import cache

from .places import Place

_DATA = os.path.join(os.path.dirname(__file__), "data")
_GZIP = 31  # zlib's code for "with a gzip header"; importing the gzip module costs more than unpacking

SIGHT_IMPORTANCE = 0.7
"""The approximate Nominatim importance of a well-known sight."""

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h", "ß": "ss"}
)
"""Letters that Unicode does not decompose into a base letter and an accent."""

_SILENT = re.compile("[.'`´’‘ʻʼʹ]")  # noqa: RUF001  (the look-alikes are the point)
_NOT_A_WORD = re.compile(r"[\W_]+")

_COUNTRIES = {"usa": "US", "america": "US", "uk": "GB", "britain": "GB", "netherlands": "NL", "holland": "NL"}
"""Common names of countries by their codes, beside those of the data."""


def fold(text: str) -> str:
    """``text`` without case, accents and punctuation, words one space apart: ``Île-de-France`` is ``ile de france``.

    Dots and apostrophes are removed (``D.C.`` is ``dc``); other punctuation separates words. Folding is idempotent.
    """
    if not text.isascii():
        # Casefolding can undo a decomposition and vice versa, so each is applied again.
        text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        text = "".join(letter for letter in text if not unicodedata.combining(letter)).translate(_LETTERS)
    return " ".join(_NOT_A_WORD.sub(" ", _SILENT.sub("", text).lower()).split())


def search(text: str) -> list[Place]:
    """Return the towns and sights for ``Louvre``, ``Louvre, Paris`` or ``Louvre Paris``, none if nothing is known.

    What follows the name is the city, the region or the country, or a code of one.
    """
    name, *within = map(fold, text.split(","))
    words = name.split()
    for count in range(len(words), 0, -1):
        called, rest = " ".join(words[:count]), {*filter(None, [" ".join(words[count:]), *within])}
        found = [place for place, inside in (*_towns_named(called), *_sights_named(called)) if rest <= inside]
        if found:
            return found
    return []


def _towns_named(name: str) -> Iterator[tuple[Place, set[str]]]:
    """Yield the towns with a folded name, each with the folded names and codes of itself and of what it lies in."""
    for line in _lines(_towns(), f"|{name}|"):
        keys, own_name, code, region, latitude, longitude, population = line.split("\t")
        spellings = keys.strip("|").split("|")
        place = Place(
            name=own_name or spellings[0].title(),
            latitude=float(latitude),
            longitude=float(longitude),
            region=_name_of(f"^{code}.{region}"),
            country=_name_of(f"={code}"),
            # Nominatim's scale, set so that five times the people make a tenth: Paris 0.9, Paris in Texas 0.63.
            importance=min(1.0, 0.1 * math.log(max(1, int(population)), 5)),
        )
        country = [name for name, its in _COUNTRIES.items() if its == code]
        yield place, {*spellings, *country, *map(fold, (region, place.region, code, place.country))}


def _sights_named(name: str) -> Iterator[tuple[Place, set[str]]]:
    """Yield the airports, stations and sights with a folded name, in the same way."""
    for line in _lines(_sights(), f"|{name}|"):
        _, own_name, city, code, latitude, longitude = line.split("\t")
        for town, inside in _towns_named(fold(city)):
            if code.lower() in inside:
                yield (
                    Place(
                        name=own_name,
                        latitude=float(latitude),
                        longitude=float(longitude),
                        city=city,
                        region=town.region,
                        country=town.country,
                        importance=SIGHT_IMPORTANCE,
                    ),
                    inside,
                )
                break


@cache
def _towns() -> bytes:
    with open(os.path.join(_DATA, "places.tsv.gz"), "rb") as packed:
        return zlib.decompress(packed.read(), _GZIP)


@cache
def _sights() -> bytes:
    with open(os.path.join(_DATA, "sights.tsv"), "rb") as file:
        return file.read()


def _lines(text: bytes, part: str) -> Iterator[str]:
    """Yield the lines that contain ``part``."""
    wanted = part.encode()
    found = text.find(wanted)
    while found >= 0:
        end = text.find(b"\n", found)
        yield text[text.rfind(b"\n", 0, found) + 1 : end].decode()
        found = text.find(wanted, end)


def _name_of(key: str) -> str:
    """Return the name of a country (``=FR``) or of a region (``^US.TX``), "" if the data has none."""
    return next((line.partition("\t")[2] for line in _lines(_towns(), f"{key}\t")), "")
