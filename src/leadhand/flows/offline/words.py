"""The words that the built-in model knows, by meaning, and the names of well-known places."""

from __future__ import annotations

import re
import unicodedata
from importlib.resources import files


def read_words(file: str) -> dict[str, frozenset[str]]:
    """Return the words of a file by what they are: paragraphs that begin with a name and a colon."""
    text = re.sub("(?m:^#.*\n?)", "", files("leadhand.flows.offline").joinpath(file).read_text("utf-8")).strip()
    parts = (part.partition(":") for part in re.split(r"\n{2,}", text))
    return {name: frozenset(words.split()) for name, _, words in parts}


def slug(name: str, limit: int = 60) -> str:
    """A name as part of an identifier: lower case, without accents, with other letters kept; cut at ``limit``."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "_".join("".join(c if c.isalnum() else " " for c in plain.casefold()).split())[:limit].strip("_")


def stem_of(low: str) -> str:
    """Return a word without its plural ending, to find ``hotel_tool`` by "hotels"."""
    return low.removesuffix("s") if len(low) > 3 else low


WORDS = read_words("words.txt")
FUNCTION = WORDS["function"]
SAID = FUNCTION.union(*(WORDS[name] for name in ("topic", "weather", "weather-too", "route", "movement")))
"""The words of a clause that say nothing more than its weather or its route."""
_KINDS = {"drive": "mode", "walk": "mode", "bicycle": "mode", "imperial": "units", "metric": "units"}
MEANS = {word: (kind, value) for value, kind in _KINDS.items() for word in WORDS[value]}
LINKS = {word: link for link in ("in", "from", "between", "to", "via") for word in WORDS[link]}
REGIONS = read_words("regions.txt")
"""Names and codes of countries and states that qualify a place."""
PLACES = read_words("cities.txt")
"""Well-known places, which are found in lower case, too; ``word-too`` are names that are also words."""
NO_NAME = SAID.union(WORDS["other-transport"], WORDS["no-place"], WORDS["separator"], WORDS["negation"], MEANS, LINKS)
"""Words that cannot begin the name of a place."""


def content_of(text: str) -> set[str]:
    """Return the words of a text that say what it is about, in any language."""
    return {word for word in map(str.casefold, re.findall(r"[^\W_]{3,}", text)) if word not in FUNCTION}
