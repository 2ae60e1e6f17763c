"""Find place names in a sentence: their beginning, their end, and the regions that qualify them ("Paris, Texas")."""

from __future__ import annotations

from itertools import takewhile

from .tokens import Text, Token
from .words import FUNCTION, KNOWN, WORDS, read_words, slug, stem_of

_MOST_CHARACTERS, _LONGEST_NAME, _LONGEST_SMALL_NAME = 150, 12, 4
_REGIONS = read_words("regions.txt")
_SMALL = {name: kind for kind, names in read_words("cities.txt").items() for name in names}
"""Names and codes of regions, and places in lower case; ``word-too`` are codes and names that are also words."""
_ENDS_NAME = FUNCTION.union(*(WORDS[name] for name in ("weather", "separator", "where", "way")))


def kind_of_name(name: str) -> str:
    """Return ``city``, ``sight`` or ``word-too`` for the name of a well-known place, in any case; else ""."""
    return _SMALL.get(slug(name), "")


def read_place(text: Text, index: int, end: int, *, linked: bool) -> tuple[str, int] | None:
    """Return the name of the place that begins at ``index`` and its end, or None.

    A name in lower case has to be well known. ``linked`` is whether the word before it shows that a place follows.
    """
    index += text.low(index, end) == "the"
    if index >= end or text.tokens[index].mark:
        return None
    stop = _small_end(text, index, end, linked=linked) or _large_end(text, index, end)
    if not stop:
        return None
    first = text.tokens[index]
    parts = [first.text if first.quoted else _tidy(text, index, stop)]
    # "Boston, New York and Washington" lists three cities; "Buffalo, New York" at the end names one.
    level, listed = _level(slug(parts[0])), index > 0 and text.tokens[index - 1].text == ","
    while region := _region_after(text, stop, level, listed=listed):
        part, stop, level = region
        parts.append(part)
    name = ", ".join(parts)
    return ("The Hague" if name == "Hague" else name, stop) if len(name) <= _MOST_CHARACTERS else None


def _small_end(text: Text, index: int, end: int, *, linked: bool) -> int:
    """Return the end of the well-known name in lower case that begins at ``index``, with nouns after it, or 0."""
    window = text.tokens[index : min(end, index + _LONGEST_SMALL_NAME)]
    said = [token.low for token in takewhile(lambda token: token.low and not token.capital, window)]
    for count in range(len(said), 0, -1):
        kind = kind_of_name(" ".join(said[:count]))
        if kind in ("city", "sight") or (linked and (kind or _level("_".join(said[:count])))):
            nouns = takewhile(lambda low: low in WORDS["place-noun"], said[count:])
            return index + count + len(list(nouns))
    return 0


def _large_end(text: Text, index: int, end: int) -> int:
    """Return the end of the quotation or capitalised name that begins at ``index``, or 0."""
    tokens, first, following = text.tokens, text.tokens[index], text.low(index + 1, end)
    if first.quoted or (first.text == "A" and (not following or following in WORDS["way"])):
        return index + 1  # "from A to B"
    # A number or a noun begins a name only if a name follows: "10 Downing Street", not "5 people".
    if first.text[0].isdigit() or (first.capital and first.low in WORDS["name-after-all"]):
        begins = bool(following) and tokens[index + 1].capital and following not in KNOWN
    else:
        begins = first.capital and first.low not in KNOWN and stem_of(first.low) not in text.topics
    if not begins or text.day_at(index, end) is not None:
        return 0
    at, end = index + 1, min(end, index + _LONGEST_NAME)
    while at < end:
        token, before = tokens[at], tokens[at - 1]
        later = tokens[at + 1 : min(at + 3, end)]
        after = next((each for each in later if each.low not in WORDS["particle"]), token)
        goes_on = token.capital or token.text[0].isdigit() or token.low in WORDS["place-noun"]
        # "Rio de Janeiro", "Trinidad and Tobago"
        joins = token.low in WORDS["particle"] and after.capital and after.low not in KNOWN
        joins = joins or (token.low == "and" and _level(f"{before.low}_and_{after.low}") > 0)
        ends = token.quoted or text.day_at(at, end) is not None or (before.possessive and not token.capital)
        ends = ends or token.mark or (not joins and (token.low in _ENDS_NAME or not goes_on))
        if text.ends_sentence(at) if token.text == "." else ends:
            break
        at += 1
    return at


def _region_after(text: Text, stop: int, level: int, *, listed: bool) -> tuple[str, int, int] | None:
    """Return a region that qualifies a name of a lower ``level`` (", Texas", "(Texas)", "texas"), its end and level."""
    tokens = text.tokens
    mark = tokens[stop].text if stop < len(tokens) and tokens[stop].text in (",", "(") else ""
    start = stop + bool(mark)
    said = list(takewhile(lambda token: token.low, tokens[start : start + 4]))
    if not said:
        return None
    names = ["_".join(token.low for token in said[:count]) for count in range(len(said), 0, -1)]
    name = next(filter(_level, names), "")
    own, after = _level(name), start + (len(said) - names.index(name) if name else 1)
    code = "" if name else said[0].text.upper()
    if code and (said[0].low not in _REGIONS["word-too"] or (mark and said[0].text.isupper())):
        own = 1 if code in _REGIONS["state-code"] else 2 if code in _REGIONS["country-code"] else 0
    following = tokens[after] if after < len(tokens) else Token(".", "", 0, 0, mark=True)
    in_list = not mark or listed or following.text == "," or following.low in ("and", "or")
    one_of_several = name in _REGIONS["city-too"] and mark != "(" and in_list
    if not own or (own <= level and not code) or one_of_several or (mark == "(" and following.text != ")"):
        return None
    return f"{code}{'.' * code.count('.', 0, 2)}" or _tidy(text, start, after), after + (mark == "("), max(own, level)


def _level(name: str) -> int:
    """Return the level of a name on its own: 0 for a place, 1 for a state, 2 for a country."""
    return 1 if name in _REGIONS["state"] else 2 if name in _REGIONS["country"] else 0


def _tidy(text: Text, start: int, stop: int) -> str:
    """Return the display name of some tokens: one space between words, no trailing possessive, capitalised."""
    last = text.tokens[stop - 1]
    name = " ".join(text.source[text.tokens[start].start : last.end].split())
    name = name[:-2] if last.possessive else name
    if name.islower():
        name = " ".join(part if part in WORDS["particle"] else part.capitalize() for part in name.split(" "))
    elif name.isupper() and len(name) > 3 and name.isascii():
        name = name.title()
    return name[:1].upper() + name[1:]
