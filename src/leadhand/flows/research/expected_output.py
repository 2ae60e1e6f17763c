"""What the result of a subagent lacks of an ``expected_output`` that is a sentence, as far as code can tell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from leadhand.flows.offline.words import word_set

_SPELLED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: number for number, word in enumerate(_SPELLED.split(), start=1)}
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_AT_MOST = r"at most|up to|no more than|not more than|maximum(?: of)?|max\.?|under|below|within|fewer than|less than"
_AT_LEAST = r"at least|no fewer than|no less than|minimum(?: of)?|more than|over"
_BOUND = rf"(?:(?P<most>{_AT_MOST})|(?P<least>{_AT_LEAST})|(?P<exactly>exactly|in)|(?P<about>about|around|roughly))"
_STRICT = ("under", "below", "fewer than", "less than", "more than", "over")
_WORDS = re.compile(rf"(?:{_BOUND}\s+)?{_COUNT}[\s-]+words?(?P<fewer>\s+(?:or\s+(?:fewer|less)|at\s+most))?\b")
_ITEMS = re.compile(
    rf"(?:{_BOUND}\s+)?{_COUNT}[\s-]+(?:(?:bullet(?:ed)?|numbered|list)[\s-]+)?(?:items?|bullets?|points?|entries)\b"
)
_ONE = r"(?:an? |one )?(?:\w+ )?"
_FORMS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "it is not JSON": (re.compile(r"\b(?:valid )?json(?: (?:object|array|list))?\b"), lambda text: _is_json(text)),
    "it has no table": (
        re.compile(rf"\b(?:as|in|with) {_ONE}tables?\b|\bmarkdown tables?\b|^\s*{_ONE}tables?\b"),
        lambda text: re.search(r"^\s*\|?.*\|.*\n\s*\|?\s*:?-{2,}.*\|?", text, re.MULTILINE) is not None,
    ),
    "it has no number": (
        re.compile(r"\b(?:(?:the |a |an |one )?(?:single |exact )?(?:number|figure)|as a number)\b(?! of\b)"),
        lambda text: re.search(r"\d", text) is not None,
    ),
    "it has no date": (
        re.compile(r"\b(?:(?:the|an?|exact|iso) )+date\b|^\s*date\b|\byyyy-mm-dd\b"),
        lambda text: _DATE.search(text) is not None,
    ),
    "it has no URL": (re.compile(r"\b(?:urls?|web address(?:es)?)\b"), lambda text: "http" in text and "://" in text),
}
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez)\w*\.?"
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}(?:-\d{{2}})?\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b"
    rf"|\b\d{{1,2}}(?:\.|st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}|\b{_MONTH}\s+\d{{1,4}}\b",
    re.IGNORECASE,
)
_LANGUAGES = {
    "english": word_set("the of and is are that with for from which this was"),
    "german": word_set("der die das und ist nicht mit für von ein eine auf werden"),
    "french": word_set("le la les et est des une dans pour que avec sur du"),
    "spanish": word_set("el la los las y es una para que con por del en"),
    "italian": word_set("il lo gli e è una per che con del della di nel"),
    "dutch": word_set("de het een en is van voor met niet zijn dat op"),
    "portuguese": word_set("o os as e é uma para que com do da em não"),
}
_IN_LANGUAGE = re.compile(rf"\b(?:written )?in (?P<language>{'|'.join(_LANGUAGES)})\b")
_LEAST_WORDS = 12
"""Words of a text whose language code can tell."""
_ITEM = re.compile(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s+\S", re.MULTILINE)
_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_FILLERS = word_set("a an the of as in with and or it please only just give return write one list markdown text valid")


def lacking(expected: str, texts: Sequence[str]) -> tuple[list[str], bool]:
    """Return what every one of the texts lacks of what a sentence expects, and whether code understood all of it.

    ``texts`` are the parts of a result that may have it: its detail, its summary, its files.
    """
    rest, found = expected.casefold(), list[str]()

    def take(pattern: re.Pattern[str], problem: Callable[[re.Match[str]], Callable[[str], str]]) -> None:
        nonlocal rest
        while (match := pattern.search(rest)) is not None:
            check = problem(match)
            problems = [check(text) for text in texts]
            if problems and all(problems):
                found.append(problems[0])
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"

    take(_WORDS, lambda match: lambda text: _outside(match, len(text.split()), "words"))
    take(_ITEMS, lambda match: lambda text: _outside(match, len(_ITEM.findall(text)), "list items"))
    for missing, (pattern, fits) in _FORMS.items():
        take(pattern, lambda _, missing=missing, fits=fits: lambda text: "" if fits(text) else missing)
    take(_IN_LANGUAGE, lambda match: lambda text: _other_language(match["language"], text))
    return list(dict.fromkeys(found)), not any(word not in _FILLERS for word in re.findall(r"[^\W_]+", rest))


def _outside(match: re.Match[str], made: int, what: str) -> str:
    """Return that a text has too many or too few of what is counted; "" if it has as many as are expected."""
    groups = match.groupdict()
    count = _NUMBERS.get(match["count"]) or int(match["count"])
    strict = any(groups[name] in _STRICT for name in ("most", "least"))
    low, high = count, count
    if groups["about"] or (what == "words" and not (groups["most"] or groups["least"] or groups.get("fewer"))):
        low, high = count // 2, 2 * count  # nobody counts words to the word
    elif groups["most"] or groups.get("fewer"):
        low, high = 0, count - strict
    elif groups["least"]:
        low, high = count + strict, made
    return "" if low <= made <= high else f"it has {made:,} {what}, not {match[0].strip()}"


def _is_json(text: str) -> bool:
    fenced = _FENCE.match(text)
    try:
        return isinstance(json.loads(fenced[1] if fenced is not None else text), dict | list)
    except ValueError:
        return False


def _other_language(wanted: str, text: str) -> str:
    """Return that a text is in another language, if its short words say so clearly."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    hits = {language: sum(word in known for word in words) for language, known in _LANGUAGES.items()}
    other = max(hits, key=lambda language: hits[language])
    clear = len(words) >= _LEAST_WORDS and hits[other] >= 3 * max(hits[wanted], 1)
    return f"it is in {other.capitalize()}, not in {wanted.capitalize()}" if clear else ""
