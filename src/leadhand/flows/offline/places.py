"""Place names in a sentence: where one begins, where it ends, and which comma belongs to it."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from leadhand.domain.days import LONGEST_PHRASE, When, day_phrase

from . import words
from .regions import level_of, region_at
from .tokens import Token, ends_sentence, low_at, tokenize

_MOST_CHARACTERS, _LONGEST_NAME, _LONGEST_SMALL_NAME = 150, 12, 4
_ENDS_LARGE_NAME = words.FUNCTION | words.WEATHER | words.SEPARATORS | words.WHERE | words.WAY

# "and" belongs to the name behind these.
_NAMES_WITH_AND = words.word_set(
    "trinidad+tobago bosnia+herzegovina antigua+barbuda newfoundland+labrador turks+caicos brighton+hove tyne+wear"
)


class Place(NamedTuple):
    """A place as it was written, tidied; the tokens from ``start`` to before ``stop``."""

    name: str
    start: int
    stop: int


class Text(NamedTuple):
    """A request cut up for reading.

    ``bound`` maps the index of a comma or an "and" that belongs to a name, or joins the two ends of "between A and B",
    to the index behind what it binds. ``topics`` are the words that the tools of the run are named for.
    """

    source: str
    tokens: list[Token]
    bound: dict[int, int]
    today: date | None
    topics: frozenset[str]

    def day_at(self, index: int, end: int) -> tuple[When, int] | None:
        """The day phrase that begins at ``index``, and how many tokens it takes."""
        window = self.tokens[index : min(end, index + LONGEST_PHRASE)]
        return day_phrase(["" if token.mark or token.quoted else token.text for token in window], self.today)


def cut(source: str, today: date | None, topics: frozenset[str] = frozenset()) -> Text:
    """Cut a request up."""
    tokens = tokenize(source)
    return Text(source, tokens, _bind(tokens), today, topics)


def _bind(tokens: list[Token]) -> dict[int, int]:
    """Find the commas before regions ("Paris, Texas") and the "and" of names and of "between A and B"."""
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
            else:
                level = 0
            item = index + 1
        elif token.low == "between":
            between = True
        elif token.low == "and" or token.low in words.WHERE or token.low in words.WAY or token.mark:
            if token.low == "and" and 0 < index < len(tokens) - 1:
                if f"{tokens[index - 1].low}+{tokens[index + 1].low}" in _NAMES_WITH_AND:
                    bound[index] = index + 2
                elif between:
                    bound[index], between = index + 1, False
            item, level = index + 1, 0
    return bound


def _qualifier(tokens: list[Token], comma: int, item: int, level: int, bound: dict[int, int]) -> tuple[int, int] | None:
    """Where the region behind ``comma`` ends and its level, if there is one and it can qualify the name before it."""
    names: list[str] = []
    for token in tokens[comma + 1 : comma + 6]:
        if token.mark:
            break
        names.append(token.text)
    region = region_at(names)
    if region is None or comma == 0 or tokens[comma - 1].mark:
        return None
    stop = comma + 1 + region.words
    following = tokens[stop] if stop < len(tokens) else None
    if tokens[comma].text == "(":
        return (stop + 1, region.level) if following is not None and following.text == ")" else None
    if region.code and following is not None and following.capital and following.low not in words.KNOWN:
        return None  # "Paris, IN Texas": a code ends its name
    before = [token.low for token in tokens[max(item, comma - 4) : comma]]
    own = max([level, *(level_of("_".join(before[start:])) for start in range(len(before)))])
    same = not level and before == [name.casefold() for name in names[: region.words]]
    if region.level <= own and not same and not region.code:
        return None
    if region.city and not same:
        # "Boston, New York and Washington" lists three cities; "Buffalo, New York" at the end names one.
        listed = following is not None and (following.text == "," or following.low in ("and", "or"))
        if listed or (item > 0 and tokens[item - 1].text == "," and item - 1 not in bound):
            return None
    return stop, max(region.level, own)


def read_place(text: Text, index: int, end: int, *, small: bool = True) -> Place | None:
    """The place that begins at ``index``, or None.

    A name written large ends at the first small word that names do not contain; one written small (only if ``small``)
    ends at the first word that the grammar knows.
    """
    tokens = text.tokens
    index = _skip_articles(tokens, index, end)
    if index >= end or tokens[index].mark or not _begins_place(text, index, end, small=small):
        return None
    stop = _name_end(text, index, end)
    first, last = tokens[index], tokens[stop - 1]
    if last.end - first.start > _MOST_CHARACTERS:
        return None
    name = first.text if first.quoted else _tidy(text.source[first.start : last.end], last)
    if stop + 1 < end and tokens[stop].low == "in" and not last.possessive and text.day_at(stop, end) is None:
        wider = read_place(text, stop + 1, end, small=False)
        if wider is not None:  # "the Louvre in Paris" is one place
            return Place(f"{name}, {wider.name}", index, wider.stop)
    return Place(name, index, stop)


def _skip_articles(tokens: list[Token], index: int, end: int) -> int:
    if index + 1 < end and tokens[index].low == "the" and tokens[index + 1].low != "hague":
        index += 1
    if index + 2 < end and tokens[index].low in ("city", "town", "village") and tokens[index + 1].low == "of":
        index += 2
    return index


def _begins_place(text: Text, index: int, end: int, *, small: bool) -> bool:
    tokens = text.tokens
    first = tokens[index]
    if first.quoted:
        return True
    following = low_at(tokens, index + 1, end)
    name_follows = bool(following) and tokens[index + 1].capital and following not in words.KNOWN
    if first.low == "the" or (first.text == "A" and (not following or following in words.WAY)):
        return following == "hague" or first.text == "A"  # "from A to B"
    if text.day_at(index, end) is not None:
        return False
    # A number or a noun begins a name only where a name follows: "10 Downing Street", not "5 people".
    if first.text[0].isdigit() or (first.capital and first.low in words.NAMES_AFTER_ALL):
        return name_follows
    noun = first.low in words.PLACE_NOUNS and not first.capital and not name_follows
    large = first.capital and first.low not in text.topics
    return first.low not in words.KNOWN and not noun and (small or large)


def _name_end(text: Text, index: int, end: int) -> int:
    tokens, bound = text.tokens, text.bound
    if tokens[index].quoted:
        return index + 1
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
        if token.text == "." and not ends_sentence(tokens, at):
            at += 1
            continue
        if token.mark or token.quoted or text.day_at(at, end) is not None:
            break
        if tokens[at - 1].possessive and not (large and token.capital):
            break
        after = next((later for later in tokens[at + 1 : min(at + 3, end)] if later.low not in words.PARTICLES), token)
        if large and token.low in words.PARTICLES and after.capital and after.low not in words.KNOWN:
            at += 1  # "Rio de Janeiro"
            continue
        continues = token.capital or token.text[0].isdigit() or token.low in words.PLACE_NOUNS
        if large and (token.low in _ENDS_LARGE_NAME or not continues):
            break
        if not large and (token.low in words.KNOWN or token.low in text.topics):
            break
        at += 1
    return min(at, end)


def _tidy(written: str, last: Token) -> str:
    """The name for people: one space between words, no trailing possessive, capitals if it was written without."""
    if last.possessive:
        written = written[: len(written) - 2]
    name = " ".join(written.split()).replace(" ,", ",").replace(" (", ", ").removesuffix(")")
    if name.islower():
        name = " ".join(part if part in words.PARTICLES else part[:1].upper() + part[1:] for part in name.split(" "))
        return name[:1].upper() + name[1:]
    if name.startswith("the "):
        return f"The {name[4:]}"
    return name.title() if name.isupper() and len(name) > 3 and name.isascii() else name
