"""Numbers in words: six weeks, nine tenths, half a million, a year and a half."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_COUNTS = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve",
}
_TENS = {
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
    "fr": "vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix cent",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
}
_ONE = "a an ein eine einer einen einem une una la"
NUMBERS = {
    word: number for words in _COUNTS.values() for number, word in enumerate(words.split(), start=1)
} | dict.fromkeys(_ONE.split(), 1)
"""Numbers in words of any language, and the articles that say one."""
_TABLES = {
    language: {word: number for number, word in enumerate(_COUNTS[language].split(), start=1) if number > 1}
    | {word: 10 * number for number, word in enumerate(tens.split(), start=2)}
    for language, tens in _TENS.items()
}
_BELOW = {
    r"hal(?:f|ves)|hälfte|halb\w*|moitié|demie?|mitad|medi[ao]": 2,
    r"thirds?|drittel\w*|tiers|tercios?|terceras? partes?": 3,
    r"quarters?|viertel\w*|quarts?|cuartos?|cuartas? partes?": 4,
    r"fifths?|fünftel\w*|cinquièmes?|quintos?|quintas? partes?": 5,
    r"sixths?|sechstel\w*|sixièmes?|sextos?|sextas? partes?": 6,
    r"sevenths?|siebtel\w*|septièmes?|séptimas? partes?": 7,
    r"eighths?|achtel\w*|huitièmes?|octavos?|octavas? partes?": 8,
    r"ninths?|neuntel\w*|neuvièmes?|novenas? partes?": 9,
    r"tenths?|zehntel\w*|dixièmes?|décimos?|décimas? partes?": 10,
    r"twentieths?|zwanzigstel\w*|vingtièmes?|vigésimas? partes?": 20,
}
_SPELLED = {
    language: re.compile(
        rf"(?<![\w-])(?:{'|'.join(sorted(table, key=len, reverse=True))})(?![\w-])(?! (?:{'|'.join(_BELOW)})\b)",
        re.IGNORECASE,
    )
    for language, table in _TABLES.items()
}
_ORDINALS = ["zweite", "dritte", "vierte", "fünfte", "sechste", "siebte", "achte", "neunte", "zehnte"]
_ABOVE = "|".join(sorted((*NUMBERS, "[1-9]"), key=len, reverse=True))
_FRACTION = rf"(?<!and a )(?<!\bet )(?<!\by )\b(?:(?P<above>{_ABOVE})[\s-]+)?(?P<below>{'|'.join(_BELOW)})\b"
_SHARE = re.compile(rf"{_FRACTION}|\bjede[rsnm]? (?P<every>{'|'.join(_ORDINALS)})[rsnm]?\b", re.IGNORECASE)
_WHOLE = (
    r"(?:million|billion|milliard|mill[oó]n|hour|year|decade|century|stunde|jahr|"
    r"heure|année|siècle|hora|siglo|década)\w*"
)
_ARTICLE = r"(?:\s+of)?(?:[\s-]+(?:an?|one|einer?|de|d))?[\s'’-]+"
_PART_OF = re.compile(rf"{_FRACTION}{_ARTICLE}(?P<whole>{_WHOLE})\b", re.IGNORECASE)
_AND_A_HALF = re.compile(
    rf"\b(?P<count>{_ABOVE}|\d+)(?P<unit> [^\W\d_]+)? (?:and a half|et demie?|y medi[ao])(?P<after> [^\W\d_]+)?"
    r"|\b(?P<german>ander|(?:ein|zwei|drei|vier)ein)halb\w{0,2}\b",
    re.IGNORECASE,
)
_GERMAN = {"ander": "1.5", "einein": "1.5", "zweiein": "2.5", "dreiein": "3.5", "vierein": "4.5"}
_ONE_OF = re.compile(
    r"\b(?:an?|one|eine?|une?|una)(?= (?:decade|century|jahrzehnt|jahrhundert|décennie|siècle|década|siglo)\b"
    r"|(?: hour| stunde| heure| hora)(?: and| und| et| y)? [\w-]+(?: min|$))",
    re.IGNORECASE,
)


@lru_cache(maxsize=1_024)
def in_digits(text: str, language: str) -> str:
    """Return a text with digits for numbers in words: those of its language, and in any language 1.5 million."""

    def half_more(match: re.Match[str]) -> str:
        if match["german"]:
            return _GERMAN[match["german"].casefold()]
        return f"{_count(match['count'])}.5{match['unit'] or ''}{match['after'] or ''}"

    text = _AND_A_HALF.sub(half_more, text)
    text = _PART_OF.sub(lambda match: f"{_share(match) / 100:.3g} {match['whole']}", text)
    text = _ONE_OF.sub("1", text)
    table = _TABLES.get(language)
    return _SPELLED[language].sub(lambda match: str(table[match[0].casefold()]), text) if table else text


@lru_cache(maxsize=1_024)
def shares_in(text: str) -> Sequence[tuple[re.Match[str], float]]:
    """Return the shares that a text states in words, in percent: a third, two thirds, jede fünfte."""
    found = [(match, _share(match)) for match in _SHARE.finditer(text)]
    return tuple(
        (match, share)
        for match, share in found
        if 0 < share < 100 and (match["above"] or match["every"] or share == 50)
    )


def _share(match: re.Match[str]) -> float:
    if "every" in match.re.groupindex and match["every"]:
        return 100 / (2 + _ORDINALS.index(match["every"].casefold()))
    below = next(number for words, number in _BELOW.items() if re.fullmatch(words, match["below"], re.IGNORECASE))
    return 100 * (_count(match["above"]) if match["above"] else 1) / below


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else NUMBERS[word.casefold()]
