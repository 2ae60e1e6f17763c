"""The words that the grammar knows, by meaning, from words.txt. Other content words of a request become gaps."""

from __future__ import annotations

import unicodedata
from importlib.resources import files

from .days import DAY_PARTS, MONTHS, NUMBERS, WEEKDAYS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which keeps long lists readable."""
    return frozenset(text.split())


def read_words(file: str) -> dict[str, frozenset[str]]:
    """Return the words of a file by what they are: paragraphs that begin with a name and a colon."""
    lines = files("leadhand.flows.offline").joinpath(file).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).strip()
    parts = (part.partition(":") for part in text.split("\n\n"))
    return {name: word_set(words) for name, _, words in parts}


def slug(name: str, limit: int = 60) -> str:
    """A name as part of an identifier: lower case, without accents, with other letters kept; cut at ``limit``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:limit].strip("_")


def stem_of(low: str) -> str:
    """Return a word without its plural ending, to find ``hotel_tool`` by "hotels"."""
    return low.removesuffix("s") if len(low) > 3 else low


WORDS = read_words("words.txt")
FUNCTION = WORDS["function"]
GREETINGS = WORDS["salutation"] | WORDS["greeting"]
BACKGROUND = WORDS["movement"] | WORDS["background"]
_KINDS = {"drive": "mode", "walk": "mode", "bicycle": "mode", "imperial": "units", "metric": "units"}
ALIASES = {value: WORDS[value] for value in _KINDS}
"""What means of transport and units are called, in requests and in the schemas of tools."""
MEANS = {name: (kind, value) for value, kind in _KINDS.items() for name in ALIASES[value] - WORDS["schema-only"]}
MEANS.update({name: ("transport", name) for name in WORDS["other-transport"]})
"""The kinds and values of phrases by their names in requests."""
KNOWN: frozenset[str] = FUNCTION.union(
    *(WORDS[name] for name in ("weather", "weather-if-alone", "weather-details", "route", "movement", "no-place")),
    *(WORDS[name] for name in ("separator", "condition", "where", "way")),
    *(MEANS, NUMBERS, DAY_PARTS, [name.lower() for name in (*WEEKDAYS, *MONTHS)]),
)
"""A place cannot begin with one of these."""
