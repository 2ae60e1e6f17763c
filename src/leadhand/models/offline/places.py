"""Place names in a sentence: where one begins, where it ends, and which comma belongs to it."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from . import vocabulary as words
from .days import day_at
from .phrases import transport_at, units_at
from .regions import level_of, region_at
from .tokens import LIST_MARKS, Token, ends_sentence, tokenize

_MOST_CHARACTERS = 150
_LONGEST_NAME = 12
_LONGEST_SMALL_NAME = 4

# "and" belongs to the name behind these.
_NAMES_WITH_AND = {
    ("trinidad", "tobago"),
    ("bosnia", "herzegovina"),
    ("antigua", "barbuda"),
    ("kitts", "nevis"),
    ("newfoundland", "labrador"),
    ("turks", "caicos"),
    ("brighton", "hove"),
    ("tyne", "wear"),
    ("vincent", "grenadines"),
}


class Place(NamedTuple):
    """A place as it was written, tidied; the tokens from ``start`` to before ``stop``."""

    name: str
    start: int
    stop: int


class Text(NamedTuple):
    """A request cut up for reading.

    ``bound`` maps the index of a comma or an "and" that belongs to a name, or joins the two ends of "between A and B",
    to the index behind what it binds; ``inside`` are the words so bound.
    """

    source: str
    tokens: list[Token]
    bound: dict[int, int]
    inside: frozenset[int]
    today: date | None


def cut(source: str, today: date | None) -> Text:
    """A request, cut up."""
    tokens = tokenize(source)
    bound = bind(tokens)
    inside = frozenset(index for comma, stop in bound.items() for index in range(comma + 1, stop))
    return Text(source, tokens, bound, inside, today)


def bind(tokens: list[Token]) -> dict[int, int]:
    """Finds the commas before regions ("Paris, Texas") and the "and" of names and of "between A and B"."""
    bound: dict[int, int] = {}
    between = False
    item = 0  # where the name before the comma may begin
    level = 0
    for index, token in enumerate(tokens):
        if ends_sentence(tokens, index):
            between, item, level = False, index + 1, 0
        elif token.text in (",", "("):
            reach = _qualifier(tokens, index, item, level, bound)
            if reach is not None:
                bound[index], level = reach
                item = index + 1
            else:
                item, level = index + 1, 0
        elif token.low in ("between", "apart"):
            between = True
        elif token.low == "and":
            pair = (tokens[index - 1].low if index else "", tokens[index + 1].low if index + 1 < len(tokens) else "")
            if pair in _NAMES_WITH_AND:
                bound[index] = index + 2
            elif between:
                bound[index], between = index + 1, False
            item, level = index + 1, 0
        elif token.low in words.WHERE or token.low in words.WAY or token.mark:
            item, level = index + 1, 0
    return bound


def _qualifier(tokens: list[Token], comma: int, item: int, level: int, bound: dict[int, int]) -> tuple[int, int] | None:
    """Where the region behind ``comma`` ends and its level, if there is one and it can qualify what stands before."""
    end = min(len(tokens), comma + 6)
    names: list[Token] = []
    for token in tokens[comma + 1 : end]:
        if token.mark:
            break
        names.append(token)
    region = region_at([token.text for token in names], [token.low for token in names])
    if region is None or comma == 0 or tokens[comma - 1].mark:
        return None
    stop = comma + 1 + region.words
    if tokens[comma].text == "(":
        if stop >= len(tokens) or tokens[stop].text != ")":
            return None
        return stop + 1, region.level
    following = tokens[stop] if stop < len(tokens) else None
    if region.code and following is not None and _begins_name(following):
        return None  # "Paris, IN Texas": a code ends its name
    before = [token.low for token in tokens[max(item, comma - 4) : comma]]
    own = max([level, *(level_of(before[start:]) for start in range(len(before)))]) if before else level
    same = before == [token.low for token in names[: region.words]]
    if region.level <= own and not same and not region.code:
        return None
    if region.ambiguous and not same:
        # "Boston, New York and Washington" lists three cities; "Buffalo, New York" at the end names one.
        listed = following is not None and (following.text == "," or following.low in ("and", "or"))
        if listed or _in_list(tokens, item, bound):
            return None
    return stop, max(region.level, own)


def _begins_name(token: Token) -> bool:
    return (
        token.capital and not token.text.isupper() and token.low not in words.STOP and token.low not in words.WEEKDAYS
    )


def _in_list(tokens: list[Token], item: int, bound: dict[int, int]) -> bool:
    """Whether an unbound comma stands right before the name that begins at ``item``."""
    return item > 0 and tokens[item - 1].text == "," and item - 1 not in bound


def read_place(text: Text, index: int, end: int, *, small: bool = True) -> Place | None:
    """The place that begins at ``index``, or None.

    A name written large ends at the first small word that is no part of names; one written small (only if ``small``)
    ends at the first word that is no part of a place.
    """
    tokens = text.tokens
    index = _skip_articles(tokens, index, end)
    if index >= end or tokens[index].mark:
        return None
    first = tokens[index]
    if not _begins_place(text, index, end, small=small):
        return None
    stop = _name_end(text, index, end)
    last = tokens[stop - 1]
    if last.end - first.start > _MOST_CHARACTERS:
        return None
    name = _tidy(text.source[first.start : last.end], last)
    if stop + 1 < end and tokens[stop].low == "in" and not tokens[stop - 1].possessive:
        wider = read_place(text, stop + 1, end, small=False)
        if wider is not None and units_at(tokens, stop, end) is None and day_at(tokens, stop, end, text.today) is None:
            # "the Louvre in Paris" is one place.
            return Place(f"{name}, {wider.name}", index, wider.stop)
    return Place(name, index, stop)


def _skip_articles(tokens: list[Token], index: int, end: int) -> int:
    while index < end and tokens[index].text in ('"', "“", "both"):
        index += 1
    if index + 1 < end and tokens[index].low == "the" and tokens[index + 1].low != "hague":
        index += 1
    if index + 2 < end and tokens[index].low in ("city", "town", "village") and tokens[index + 1].low == "of":
        index += 2
    return index


def _begins_place(text: Text, index: int, end: int, *, small: bool) -> bool:
    tokens = text.tokens
    first = tokens[index]
    if first.low == "the":
        return index + 1 < end and tokens[index + 1].low == "hague"
    if first.text == "A" and (index + 1 == end or tokens[index + 1].low in words.WAY):
        return True  # "from A to B"
    name_follows = index + 1 < end and tokens[index + 1].capital and tokens[index + 1].low not in words.STOP
    if first.capital and first.low in words.STOP_BUT_NAMES and name_follows:
        return True
    if not first.capital and first.low in words.PLACE_NOUNS and not name_follows:
        return False  # "the airport" is no name
    if first.low in words.STOP or first.low in words.WEEKDAYS or first.low in words.DAY_PARTS:
        return False
    if first.text[0].isdigit():
        # A house number, if a name follows: "10 Downing Street", not "5 people".
        return name_follows and tokens[index + 1].low not in words.MONTHS
    if not first.capital and not small:
        return False
    if first.low in words.WEATHER or first.low in words.ROUTE:
        return False
    return (
        day_at(tokens, index, end, text.today) is None
        and units_at(tokens, index, end) is None
        and (first.capital or transport_at(tokens, index, end) is None)
    )


def _name_end(text: Text, index: int, end: int) -> int:
    tokens, bound = text.tokens, text.bound
    if tokens[index].low == "the":  # The Hague
        return index + 2
    large = tokens[index].capital or tokens[index].text[0].isdigit()
    limit = index + (_LONGEST_NAME if large else _LONGEST_SMALL_NAME)
    at = index + 1
    while at < end and at <= limit:
        token = tokens[at]
        if at in bound and bound[at] > at + 1:
            # The comma of "Paris, Texas" or the "and" of "Trinidad and Tobago": up to the end of what it binds.
            limit += bound[at] - at
            at = bound[at]
            continue
        if token.mark:
            if token.text == "." and not ends_sentence(tokens, at):
                at += 1
                continue
            break
        if tokens[at - 1].possessive and not (large and token.capital and token.low not in words.WEATHER):
            break
        if token.low in words.PARTICLES and large and at + 1 < end and _within_name(text, at, end):
            at += 1
            continue
        if token.low in words.STOP or day_at(tokens, at, end, text.today) is not None:
            break
        if large and not token.capital and not token.text[0].isdigit() and token.low not in words.PLACE_NOUNS:
            break
        if not large and (token.low in words.WEATHER or transport_at(tokens, at, end) is not None):
            break
        at += 1
    return min(at, end)


def _within_name(text: Text, index: int, end: int) -> bool:
    """Whether the small word at ``index`` is inside a name: a large word follows that begins nothing else."""
    after = text.tokens[index + 1]
    if after.low in words.PARTICLES and index + 2 < end:
        after = text.tokens[index + 2]
    if text.tokens[index].low == "on" and day_at(text.tokens, index, end, text.today) is not None:
        return False
    return after.capital and after.low not in words.STOP and after.low not in words.WEEKDAYS


def _tidy(written: str, last: Token) -> str:
    """The name for people: one space between words, no trailing possessive, capitals where there are none."""
    if last.possessive:
        written = written[: len(written) - 2]
    name = " ".join(written.split()).replace(" ,", ",").replace(" (", ", ").removesuffix(")")
    if name.islower():
        name = " ".join(part if part in words.PARTICLES else part[:1].upper() + part[1:] for part in name.split(" "))
        return name[:1].upper() + name[1:]
    if name.startswith("the "):
        return f"The {name[4:]}"
    if name.isupper() and len(name) > 3 and name.isascii():
        return name.title()
    return name


def separates(text: Text, index: int) -> bool:
    """Whether the token at ``index`` parts two pieces of a sentence: a list mark, or a word such as "and"."""
    if index in text.bound or index in text.inside:
        return False
    token = text.tokens[index]
    if token.text == "." and index and text.tokens[index - 1].low == "vs":
        return True
    return token.text in LIST_MARKS if token.mark else token.low in words.SEPARATORS
