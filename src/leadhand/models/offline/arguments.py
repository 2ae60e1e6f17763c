"""Fills a tool's parameters from what a request says, by their names and types; what it does not say stays missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leadhand.models.json_values import list_of, object_of, objects_of, texts_of

from . import vocabulary as words

_ROLES: dict[str, frozenset[str]] = {
    "place": words.word_set("location city place town where address area region near locality"),
    "places": words.word_set("locations cities places towns"),
    "day": words.word_set("day date when"),
    "days": words.word_set("days num_days number_of_days day_count forecast_days"),
    "units": words.word_set("units unit unit_system"),
    "mode": words.word_set("mode travel_mode transport transport_mode profile"),
    "origin": words.word_set("origin from start source from_location from_city from_place departure start_location"),
    "destination": words.word_set("destination to end target to_location to_city to_place arrival end_location"),
    "text": words.word_set(
        "query text topic question request q input prompt message search search_query keywords subject task"
    ),
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}


class Facts(NamedTuple):
    """What is known for one call.

    ``text`` is the words of the ask, ``words`` the set of them, folded, ``rest`` those behind the tool's own word.
    ``mode`` and ``day`` may be defaults: they are used where the tool has a parameter for them. ``free``: free text may
    be filled with the words of the request, not only with what it quotes. ``named`` are values by the parameter whose
    name the request says.
    """

    place: str = ""
    places: tuple[str, ...] = ()
    day: str = ""
    days: int = 1
    units: str = ""
    mode: str = ""
    origin: str = ""
    destination: str = ""
    text: str = ""
    words: frozenset[str] = frozenset()
    quoted: str = ""
    rest: str = ""
    numbers: tuple[str, ...] = ()
    free: bool = True
    named: Mapping[str, str] = {}


def fill(parameters: Mapping[str, Any], facts: Facts, defaults: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Arguments for a tool with this JSON schema, and the names of required ones that cannot be filled.

    A schema without ``properties`` takes anything: it is given ``defaults``. Optional parameters are filled when the
    request speaks of them.
    """
    required = texts_of(parameters.get("required"))
    properties: dict[str, Any] = object_of(parameters.get("properties"))
    if "properties" not in parameters:
        properties = dict.fromkeys([*defaults, *required])
    alone = _lone_text(properties, [name for name in required if name not in facts.named])
    args: dict[str, Any] = {}
    missing: list[str] = []
    for name in dict.fromkeys([*properties, *required]):
        schema = object_of(properties.get(name))
        value = _value(name, schema, facts, required=name in required, alone=name == alone)
        if value is not None:
            args[name] = value
        elif name in required and "default" not in schema:
            missing.append(name)
    return args, missing


def _lone_text(properties: Mapping[str, Any], required: list[str]) -> str:
    """The one required parameter that takes free words, if no other required one is unknown; else ""."""
    free = [name for name in required if role_of(name) in ("", "text") and takes(properties.get(name), "string")]
    return free[0] if len(free) == 1 else ""


def role_of(name: str) -> str:
    """What a parameter is for, by its name: ``place``, ``day``, …; "" if the name does not say."""
    low = name.casefold()
    if low in _ROLE_OF:
        return _ROLE_OF[low]
    parts = low.replace("-", "_").split("_")
    if parts[-1] == "name" and len(parts) > 1:
        parts.pop()
    return _ROLE_OF.get(parts[-1], "") if len(parts) > 1 else ""


def takes(schema: object, kind: str) -> bool:
    """Whether a JSON schema allows values of the type ``kind``; one that names no type allows all."""
    described = object_of(schema)
    kinds = described.get("type")
    if isinstance(kinds, str):
        return kinds == kind
    if listed := list_of(kinds):
        return kind in listed
    options = list_of(described.get("anyOf") or described.get("oneOf"))
    return any(takes(option, kind) for option in options) if options else True


def _value(name: str, schema: Mapping[str, Any], facts: Facts, *, required: bool, alone: bool) -> Any:
    """The value of one parameter, or None."""
    role = role_of(name)
    options = _options(schema)
    if name in facts.named:
        return _named(facts.named[name], (facts.named[name].casefold(),), options)
    match role:
        case "units":
            return _named(facts.units, words.UNIT_NAMES.get(facts.units, ()), options)
        case "mode":
            return _named(facts.mode, words.MODE_NAMES.get(facts.mode, ()), options)
        case "days" if takes(schema, "integer"):
            return facts.days if facts.days > 1 or required else None
        case "places":
            return list(facts.places) if facts.places and takes(schema, "array") else None
        case "place" | "day" | "origin" | "destination":
            said = str(getattr(facts, role))
            if said and options:
                return _named(said, (said.casefold(), "today") if said == "now" else (said.casefold(),), options)
            if said and takes(schema, "string"):
                return said
            if role == "destination" and required and facts.place and not facts.origin:
                return facts.place
            return None
        case _:
            pass
    if options:
        return next(
            (option for option in options if isinstance(option, str) and option.casefold() in facts.words), None
        )
    if not required:
        return None
    if len(facts.numbers) == 1 and not takes(schema, "string"):
        if takes(schema, "integer") and facts.numbers[0].isdigit():
            return int(facts.numbers[0])
        return float(facts.numbers[0]) if takes(schema, "number") else None
    if alone and takes(schema, "string"):
        return facts.quoted or (facts.text if role == "text" and facts.free else facts.rest) or None
    return None


def _options(schema: Mapping[str, Any]) -> list[Any]:
    """The values a schema allows, if it lists them; those of an optional one are inside its ``anyOf``."""
    inner = (list_of(option.get("enum")) for option in objects_of(schema.get("anyOf")))
    nothing: list[Any] = []
    return list_of(schema.get("enum")) or next((options for options in inner if options), nothing)


def _named(said: str, names: tuple[str, ...], options: list[Any]) -> str | None:
    """What was said, under the name the schema knows it by."""
    if not said:
        return None
    if not options:
        return said
    folded = {option.casefold(): option for option in options if isinstance(option, str)}
    return next((folded[name] for name in names if name in folded), None)
