"""Where a sentence has the words of its passage and says something else: other names, figures swapped, the opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from leadhand.domain.figures import MONTHS, WEEKDAYS

from .grammar import BOUNDS, CHANGES, EXCEEDS, INDEFINITE
from .measures import alike, fractions
from .vocabulary import COUNTRIES, EMPTY, NEGATIONS, OPPOSITES, ORDINARY, UNITS
from .words import PART, Placed, Words, fold, stem, stems

_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]*(?:[’'-][A-ZÀ-ÖØ-ÞĀ-Ž]?[^\W\d_]+)*"
_NAME = re.compile(
    rf"(?<=[\w,;)’'] ){_CAPITAL}(?: (?:(?:van|von|de|del|der|den|di|da|la|le|du|of|the|for) ){{0,2}}{_CAPITAL})*"
)
_CLAUSE = re.compile(r"[,;:()–—](?!\d)|\b(?:and|but|und|aber|mais|pero)\b")
_THAN = re.compile(r"\b(?:than|als|que)\b", re.IGNORECASE)
_SAME = 0.5
"""The share of a sentence's words in a sentence of a passage from which on they speak of the same thing."""
_COMPARED_WITH = re.compile(r"\b(?:than|als|que)\s+((?:[^\W\d_]+\s?){1,3})", re.IGNORECASE)
_ARTICLE = re.compile(r" (?:der|den|für) ")
_FIRST_NAME = re.compile(rf"^{_CAPITAL}(?: {_CAPITAL})+")
_APPOSED = re.compile(
    r",\s*(?:soit|that is|i\.e\.|or|about|around|roughly|some|also|das sind|d\.\s?h\.|rund|etwa|environ|"
    r"es decir|unos|unas)\b"
)
"""What begins another figure for the same thing: "8.8 million tonnes, that is 129 kg a person"."""
_COMPARED = (
    "more less fewer higher lower longer shorter larger smaller older younger than before after previous earlier later "
    "mehr weniger höher niedriger länger kürzer größer kleiner zuvor früher später vorjahr "
    "plus moins précédent précédente avant après más menos mayor menor anterior antes después"
)
_OF_ANY = frozenset(map(stem, (*MONTHS, *_COMPARED.split())))
"""Words beside a figure that say nothing about what it is a figure of."""
_MOST_OF = 0.6
_COPIED = 0.75


def changed_names(said: Words, passages: Sequence[Words], given: str) -> list[str]:
    """Return the names inside a sentence that its passages do not have.

    Where the languages differ, a name may be translated: then only one that shares a part with a name of a passage,
    and differs in another part, is certain. In German, all nouns have a capital letter: there, a name has two words.
    """
    known = " ".join([*(each.known for each in passages), fold(given)])
    same = all(each.language == said.language for each in passages)
    places = frozenset[int]().union(*(each.countries for each in passages))
    found: list[str] = []
    for match in (*_NAME.finditer(said.text), *_FIRST_NAME.finditer(said.text)):
        if said.language == "de" and _ARTICLE.search(match[0]):
            continue  # two nouns
        parts = [part for part in re.findall(_CAPITAL, match[0]) if len(part) > 1 and not _ordinary(part)]
        unknown = [part for part in parts if not _known(part, known) and not _country(part) & places]
        if not unknown or (said.language == "de" and said.text[: match.start()].rstrip()[-1:].isdigit()):
            continue  # in German, the noun after a figure has a capital letter
        if len(unknown) < len(parts):
            held = [part for part in parts if part not in unknown]
            found += [match[0]] if any(_renamed(part, unknown, said, passages) for part in held) else []
        elif same and ((len(parts) > 1 and match.start()) or said.language != "de"):
            found.append(match[0])
    if passages and not found:
        elsewhere = places | Words(given).countries
        new = said.countries - elsewhere
        if new and elsewhere - said.countries:
            found += [
                word
                for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)?", said.text)
                if any(word.casefold().startswith(COUNTRIES[country]) for country in new)
            ]
    return list(dict.fromkeys(found))


def _ordinary(word: str) -> bool:
    word = word.casefold()
    return (
        (len(word) > 3 and (word in MONTHS or word in WEEKDAYS)) or word in ORDINARY or word in EMPTY or word in UNITS
    )


def _known(part: str, known: str) -> bool:
    """Whether a word of a name, or the beginning of one, is known; of an acronym, the words that it stands for."""
    folded = fold(part)
    if folded in known or (len(folded) > 5 and re.search(rf"\b{re.escape(folded[: max(5, len(folded) - 2)])}", known)):
        return True
    if part.isupper() and len(part) <= 6:
        letters = r"[a-z]*\W+(?:(?:of|for|the|and|de|la|des|du|der|und|del|y|et)\W+)*".join(map(re.escape, folded))
        return re.search(rf"\b{letters}", known) is not None
    initials = "".join(word[0] for word in re.findall(r"[a-z]+", folded))
    return len(initials) > 1 and initials in known


def _country(word: str) -> frozenset[int]:
    return frozenset(number for number, names in enumerate(COUNTRIES) if word.casefold().startswith(names))


def _renamed(part: str, unknown: Sequence[str], said: Words, passages: Sequence[Words]) -> bool:
    """Whether a passage has a name with ``part`` whose other words are not in the sentence: another person's."""
    if len(part) < 3:
        return False
    folded = fold(said.text)
    for each in passages:
        for match in re.finditer(rf"(?:{_CAPITAL} )?\b{re.escape(part)}\b(?: {_CAPITAL})?", each.text):
            others = [word for word in re.findall(_CAPITAL, match[0]) if word != part and len(word) > 2]
            if others and all(fold(word) not in folded and not _ordinary(word) for word in others):
                return all(len(word) > 2 for word in unknown)
    return False


def swapped(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say which figures and years a passage has for something else: the words beside them are another figure's."""
    held = [measure for passage in passages for measure in passage.measures]
    if fractions(said.text) or not all(any(alike(each, other) for other in held) for each in said.measures):
        return  # it computes with the figures
    compared = frozenset(each for match in _COMPARED_WITH.finditer(said.text) for each in stems(match[1]))
    for mine, theirs in (
        (said.figures, [(each, each.figures) for each in passages]),
        ([] if said.figures else said.years, [(each, each.years) for each in passages]),
    ):
        for figure in mine:
            exact = figure._replace(measure=figure.measure._replace(bound=0, hedged=False))
            if any(alike(exact.measure, each.measure) for _, placed in theirs for each in placed):
                figure = exact  # “at least 16” is 16 where the passage has it, and no 18
            elif figure.measure.bound:
                continue
            verdicts = [
                verdict for passage, placed in theirs for verdict in _suspects(figure, mine, placed, passage, compared)
            ]
            if figure.context and verdicts and all(verdicts):
                yield f"{figure.measure.text} does not belong to “{verdicts[0]}”"


def _suspects(
    figure: Placed, said: Sequence[Placed], placed: Sequence[Placed], passage: Words, compared: frozenset[str]
) -> Iterator[str]:
    """For each place where a passage has a figure: a word that belongs to another figure there, or "".

    What a later part of a sentence is about is named there; what an earlier part names may hold for the later one, too.
    """
    for m, (measure, own, row) in enumerate(placed):
        if not alike(figure.measure, measure):
            continue
        sentence = passage.sentence_of(measure.at)
        here = [token for at, token in passage.tokens if passage.sentence_of(at) == sentence]
        wrong = ""
        for n, (other, its, also_row) in enumerate(placed):
            after = passage.sentence_of(other.at) - sentence
            if other.kind not in (measure.kind, figure.measure.kind, "") or alike(figure.measure, other):
                continue
            foreign = (figure.context & its) - own - passage.attributing - _OF_ANY - compared
            if not (row and also_row):
                if after not in (0, 1) or passage.is_range(measure.at, other.at):
                    continue
                foreign -= passage.title if after else frozenset()
                foreign = {token for token in foreign if here.count(token) == (0 if after else 1)}
            if (n < m or after) and not row:
                sorts = {_sort(token, passage) for token in own - figure.context} - {"word"}
                wanted = sorts if n < m else {"name", "year"}
                before = {token for at, token in passage.tokens if other.at < at < measure.at}
                first = {token for at, token in passage.tokens if at < other.at}
                between = passage.text[other.at : measure.at]
                apart = n < m and measure.kind == other.kind and not figure.context & (own - its)
                apart = apart and _APPOSED.search(between) is None
                lone = own - figure.context if apart else frozenset[str]()
                foreign = {
                    token
                    for token in foreign
                    if (lone & before if token in first else lone - before) or _sort(token, passage) in wanted
                }
            beside = [each.context for each in said if alike(each.measure, other)]
            if foreign and (not beside or any(words & own for words in beside)):
                wrong = wrong or min(foreign)
        yield wrong


def reverted(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence has the figures before and after a change the other way round."""
    known = {pair for each in passages for pair in _changes(each.text)}
    for before, after in _changes(said.text):
        if (after, before) in known and (before, after) not in known:
            yield f"from {before} to {after} is the opposite of the change"


def _changes(text: str) -> Iterator[tuple[str, str]]:
    for pattern, forward in CHANGES:
        for match in pattern.finditer(text):
            one, other = (re.sub(r"\s", "", each) for each in match.groups())
            yield (one, other) if forward else (other, one)


def _sort(token: str, passage: Words) -> str:
    return "year" if token[0].isdigit() else "name" if token in passage.names else "word"


def opposed(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence with the words of a passage has the opposite of one, or a negation more or less."""
    near = [part for passage in passages for part in passage.parts if part.language == said.language]
    if len(said.stems) < 2 or not near:
        return
    best = max(near, key=lambda part: len(part.stems & said.stems))
    common = best.stems & said.stems
    about = _turned_about(said.text, best.text)
    for one, other in OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if about:  # "A is louder than B" and "B is quieter than A" are the same
                there = here
            mine = _plainly(here, said.text)
            theirs = mine and _plainly(there, best.text)
            if not theirs:
                continue
            others = said.stems - frozenset(stems(mine))
            if not about and (_plainly(there, said.text) or _plainly(here, _around(best.text, theirs, said))):
                continue
            if len(common) >= _SAME * len(others):
                yield f"“{mine}” is the opposite" if about else f"“{mine}” is the opposite of “{theirs}”"
            return
    negation = NEGATIONS.get(said.language)
    mine = frozenset(stems(INDEFINITE.sub(" ", said.text)))
    if negation is None or len(common & mine) < _COPIED * len(mine):
        return
    text, theirs = BOUNDS.sub(" ", said.text), BOUNDS.sub(" ", best.text)
    if EXCEEDS.search(text) or EXCEEDS.search(theirs):  # one of them exceeds what the other does not
        text, theirs = said.text, best.text
    here = bool(negation.search(text))
    clauses = [each for each in _CLAUSE.split(theirs) if negation.search(each)]
    near_copy = [each for each in clauses if _is_in(frozenset(stems(negation.sub(" ", each))), mine)]
    apart = not any(frozenset(stems(each)) & said.stems for each in clauses)
    if here != bool(near_copy) and (near_copy or apart):
        yield "a negation was added or left out"


def _around(text: str, word: str, said: Words) -> str:
    """The part of a sentence that has a word, if it has words of ``said``; otherwise the whole sentence."""
    parts = [part for part in PART.split(text) if word in part]
    return parts[0] if parts and len(frozenset(stems(parts[0])) & said.stems) >= _MOST_OF * len(said.stems) else text


def _turned_about(said: str, passage: str) -> bool:
    """Whether two comparisons name what they compare in the other order."""
    sides = [[frozenset(stems(side)) for side in _THAN.split(text)] for text in (said, passage)]
    if any(len(each) != 2 for each in sides):
        return False
    (left, right), (before, after) = sides
    return bool((left - right) & (after - before)) and bool((right - left) & (before - after))


def _is_in(clause: frozenset[str], said: frozenset[str]) -> bool:
    """Whether a sentence has the words of a clause, or consists of them for the most part."""
    common = len(clause & said)
    if 0 < common == len(clause) and len(said) <= common + 1:
        return True
    return common >= 2 and (common >= 0.8 * len(clause) or 2 * common >= len(said))


def foreign_to(said: Words, passages: Sequence[Words]) -> bool:
    """Whether a sentence has no word in common with its passages and their titles, in the same language."""
    return len(said.stems) >= 3 and all(
        each.language == said.language != "" and not any(stem in each.known for stem in said.stems) for each in passages
    )


def _plainly(pattern: re.Pattern[str], text: str) -> str:
    """What matches in a text and is not negated."""
    for found in pattern.finditer(text):
        before = text[max(0, found.start() - 12) : found.start()]
        if re.search(r"\b(?:not?|nicht|kein\w*|pas|ne)\s+(?:\w+\s)?$", before, re.IGNORECASE) is None:
            return found[0]
    return ""
