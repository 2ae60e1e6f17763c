"""The words that the grammar knows, by meaning, from words.txt. Other content words of a request become gaps."""

from __future__ import annotations

from importlib.resources import files

from leadhand.domain.days import DAY_PARTS, MONTHS, NUMBERS, WEEKDAYS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which keeps long lists readable."""
    return frozenset(text.split())


def read_words(file: str) -> dict[str, frozenset[str]]:
    """Return the words of a file by what they are: paragraphs that begin with a name and a colon."""
    lines = files("leadhand.flows.offline").joinpath(file).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).strip()
    parts = (part.partition(":") for part in text.split("\n\n"))
    return {name: word_set(words) for name, _, words in parts}


_WORDS = read_words("words.txt")
FUNCTION = _WORDS["function"]
SALUTATIONS = _WORDS["salutation"]
GREETINGS = SALUTATIONS | _WORDS["greeting"]
STATEMENTS = _WORDS["statement"]
WEATHER, WEATHER_IF_ALONE = _WORDS["weather"], _WORDS["weather-if-alone"]
WEATHER_DETAILS = _WORDS["weather-details"]
ROUTE = _WORDS["route"]
ROUTE_DETAILS = _WORDS["route-details"] | NUMBERS.keys()
MOVEMENT = _WORDS["movement"]
BACKGROUND = MOVEMENT | _WORDS["background"]
ALIASES = {name: _WORDS[name] for name in ("drive", "walk", "bicycle", "imperial", "metric")}
"""What means of transport and units are called, in requests and in the schemas of tools."""
_MEANS = {"mode": ("drive", "walk", "bicycle"), "units": ("imperial", "metric")}
MEANS = {name: ("transport", name) for name in _WORDS["other-transport"]} | {
    name: (kind, value)
    for kind, values in _MEANS.items()
    for value in values
    for name in ALIASES[value] - _WORDS["schema-only"]
}
"""The kinds and values of phrases by their names in requests."""
BESIDE_THERE = _WORDS["beside-there"]
SEPARATORS = _WORDS["separator"]
WHERE = _WORDS["where"]
WAY = _WORDS["way"]
CONDITIONS = _WORDS["condition"]
LEADS = _WORDS["lead"]
PLACE_NOUNS = _WORDS["place-noun"]
PARTICLES = _WORDS["particle"]
NAMES_AFTER_ALL = _WORDS["name-after-all"]
NAME_STARTS = _WORDS["name-start"]
VERBS = _WORDS["verb"]
NOT_TOPICS = _WORDS["not-a-topic"]
PARAMETERS = {name: _WORDS[name] for name in ("place", "day", "days", "units", "mode", "origin", "destination")}
KNOWN: frozenset[str] = FUNCTION.union(
    *(WEATHER, WEATHER_IF_ALONE, WEATHER_DETAILS, ROUTE, MOVEMENT, DAY_PARTS, SEPARATORS, CONDITIONS, WHERE, WAY),
    *(MEANS, NUMBERS, [name.lower() for name in (*WEEKDAYS, *MONTHS)], _WORDS["no-place"]),
)
"""A place cannot begin with one of these, and a place in lower case ends before one."""
