"""Resolve the name of a place to one place, or explain why that is not possible.

If several places share a name, the largest or best-known one is chosen, and a note names it and the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leadhand.core.errors import ToolError
from leadhand.ports import ToolContext

from .geography import Place, distance_km, fold, is_said_of, place_at, without_article
from .open_meteo import find_towns
from .replies import first_answer
from .services import ServiceUrls

DOMINANCE = 5
"""How many times as populous a town of another spelling must be to be chosen: "Roma" is Rome, and no town in Texas."""

NEAR_IMPORTANCE = 0.1
"""Differences of Nominatim's importance below this are ignored."""

FAR_APART_KM = 50.0
"""Results within this distance are treated as one place: a city and its centre, an airport and its station."""

SAME_TOWN_KM = 25.0
"""Results within this distance have the same weather: a town, its centre and its suburbs."""

WELL_KNOWN = 100_000
"""Minimum inhabitants of a town that is chosen although it was found under another name (Munich for München). A smaller
one may only look similar (Louvres for the Louvre), so addresses and sights are checked first."""

CANDIDATES_SHOWN = 5


class Found(NamedTuple):
    """The chosen place, and ``note``: a sentence on how it was chosen, empty if there was no choice."""

    place: Place
    note: str = ""


async def resolve_town(context: ToolContext, urls: ServiceUrls, text: str) -> Found:
    """Return the place for a weather question: coordinates, a town (``Paris``, ``Paris, TX``), else any address.

    Raises ``ToolError``: ``unknown_place``, ``place_too_large``, and what the geocoders raise.
    """
    asked = _asked(text)
    if (place := place_at(asked)) is not None:
        return Found(place=place)
    readings = _readings(asked)
    name, qualifiers = readings[0]
    namesakes: list[Place] = []
    lookalikes: list[Place] = []
    for reading in readings:
        towns = await find_towns(context, urls, reading[0], count=100 if reading[1] else 10)
        kept = [town for town in towns if all(is_said_of(word, town) for word in reading[1])]
        known = [town for town in kept if (town.population or 0) >= WELL_KNOWN or fold(town.name) == fold(reading[0])]
        if known:
            return _town(asked, reading[0], known)
        lookalikes = lookalikes or kept
        if reading is readings[0] and qualifiers:
            namesakes = [town for town in towns if fold(town.name) == fold(name)]
    hits = await _find_addresses(context, urls, asked)
    if namesakes:  # "Paris, Spain" must be refused, and not match some Calle de París
        hits = [hit for hit in hits if fold(hit.name) == fold(name)]
    if hits:
        return _first(asked, _contenders(hits), "best-known")
    if lookalikes:
        return _town(asked, name, lookalikes)
    raise _unknown(context, asked, _apart(_by_population(namesakes), SAME_TOWN_KM))


async def resolve_ends(context: ToolContext, urls: ServiceUrls, origin: str, destination: str) -> tuple[Found, Found]:
    """Return both ends of a journey. Raises as :func:`resolve_town` does."""
    # One after the other, since the geocoders require a second between requests anyway.
    return await _resolve_end(context, urls, origin), await _resolve_end(context, urls, destination)


async def _resolve_end(context: ToolContext, urls: ServiceUrls, text: str) -> Found:
    asked = _asked(text)
    if (place := place_at(asked)) is not None:
        return Found(place=place)
    contenders = _contenders(await _find_addresses(context, urls, asked))
    if not contenders:
        raise _unknown(context, asked)
    return _first(asked, contenders, "best-known")


def _asked(text: str) -> str:
    asked = without_article(text)
    if not fold(asked):
        raise ToolError(
            f"{text!r} is not the name of a place",
            type="unknown_place",
            next_action='enter a place, e.g. "Lyon, France", or coordinates, e.g. "45.7640,4.8357"',
        )
    return asked


def _readings(asked: str) -> list[tuple[str, list[str]]]:
    """Return the ways to split a name from its qualifier: at the comma, else before the last one or two words."""
    name, *qualifiers = [part.strip() for part in asked.split(",") if fold(part)]
    readings = [(name, qualifiers)]
    words = name.split()
    if not qualifiers:
        readings += [(" ".join(words[:-n]), [" ".join(words[-n:])]) for n in (1, 2) if len(words) > n]
    return readings


def _town(asked: str, name: str, towns: list[Place]) -> Found:
    ranked = _by_population(_smallest_kind(towns))
    if not ranked:
        raise ToolError(
            f"{asked!r} is a whole country or region, and its weather differs from place to place",
            type="place_too_large",
            next_action=f"name a town in {towns[0].label}",
        )
    exact = [town for town in ranked if fold(town.name) == fold(name)]
    if exact:
        # "Newport" is not "Newport News"; yet "Roma" is Rome, and not a small town in Texas.
        ranked = [town for town in ranked if town in exact or _dominates(town, exact[0])]
    ranked = _apart(ranked, SAME_TOWN_KM)
    if len(ranked) == 1 and fold(ranked[0].name) != fold(name):
        return Found(place=ranked[0], note=f"“{asked}” was taken as {ranked[0].name}.")
    return _first(asked, ranked, "most populous")


def _first(asked: str, ranked: Sequence[Place], why: str) -> Found:
    """Return the first candidate, with a note on ``why`` it was chosen and on the next one, if there is one."""
    labels = _labels(ranked)
    note = f"“{asked}” was taken as the {why} place of that name (next: {labels[1]})." if labels[1:] else ""
    return Found(place=ranked[0], note=note)


def _smallest_kind(towns: Sequence[Place]) -> list[Place]:
    """Towns and sights if there are any, else counties and communes; never countries and states (GeoNames' codes)."""
    small = [town for town in towns if not town.kind.startswith(("PCL", "ADM"))]
    return small or [town for town in towns if not town.kind.startswith(("PCL", "ADM1"))]


def _by_population(towns: Iterable[Place]) -> list[Place]:
    return sorted(towns, key=lambda town: -(town.population or 0))


def _dominates(town: Place, other: Place) -> bool:
    return (town.population or 0) >= DOMINANCE * max(1, other.population or 0)


def _apart(ranked: Iterable[Place], km: float) -> list[Place]:
    """Return the places in order, without those within ``km`` of an earlier one."""
    kept: list[Place] = []
    for place in ranked:
        if all(distance_km(place, other) > km for other in kept):
            kept.append(place)
    return kept


async def _find_addresses(context: ToolContext, urls: ServiceUrls, asked: str) -> list[Place]:
    from .geocoders import ask_nominatim, ask_photon  # few names are not those of towns

    return await first_answer(lambda: ask_nominatim(context, urls, asked), lambda: ask_photon(context, urls, asked))


def _contenders(hits: Sequence[Place]) -> list[Place]:
    """Return the candidates among the results: far apart, and similar in importance to the best one.

    Photon returns no importance but ranks well, so only results with the same name and kind are candidates.
    """
    if not hits:
        return []
    if any(hit.importance is None for hit in hits):
        best = hits[0]
        alike = [hit for hit in hits if fold(hit.name) == fold(best.name) and hit.kind == best.kind]
        return _apart(alike, FAR_APART_KM)
    ranked = sorted(hits, key=lambda hit: -(hit.importance or 0))
    least = (ranked[0].importance or 0) - NEAR_IMPORTANCE
    return _apart((hit for hit in ranked if (hit.importance or 0) > least), FAR_APART_KM)


def _unknown(context: ToolContext, asked: str, known: Sequence[Place] = ()) -> ToolError:
    if known:
        action = f"choose from: {_listed(known)}"
    elif context.offline:
        action = "offline only towns above 15,000 people and well-known sights are available; use coordinates instead"
    else:
        action = 'check the spelling, add the country ("Lyon, France"), or use coordinates ("45.7640,4.8357")'
    return ToolError(f"no place named {asked!r} was found", type="unknown_place", next_action=action)


def _listed(candidates: Sequence[Place]) -> str:
    return "; ".join(_labels(candidates)[:CANDIDATES_SHOWN])


def _labels(candidates: Sequence[Place]) -> list[str]:
    """Return the candidates, each in a form that identifies it uniquely when used as input."""
    parts = [frozenset(candidate.label.split(", ")) for candidate in candidates]
    return [
        candidate.exact_label if sum(own <= others for others in parts) > 1 else candidate.label
        for candidate, own in zip(candidates, parts, strict=True)
    ]
