"""Where a sentence is surer than its passage: a forecast stated as a fact, “at most” as “at least”, a cause added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .measures import Measure, alike
from .vocabulary import any_of
from .words import PART, Words, stems

_POSSIBLE = {
    "en": any_of(
        r"could|(?-i:may)|might|possibl[ey]|perhaps|maybe|likely|probabl[ey]|apparently|presumably|potential\w*|seems?|"
        r"appears? to|suggest\w*|disputed|contested|disagree\w*|risks?|unclear|not clear|uncertain\w*|whether"
    ),
    "de": any_of(
        r"könnten?|dürften?|möglich\w*|vielleicht|wahrscheinlich\w*|vermut\w*|wohl|"
        r"womöglich|mutmaßlich\w*|scheint|umstritten|"
        r"unklar|ungewiss\w*|offenbar|deute[nt]\w*|ob"
    ),
    "fr": any_of(
        r"pourrai\w+|peut-être|possibles?|probable\w*|semble\w*|suggèr\w+|susceptible\w*|"
        r"incertain\w*|apparemment|penche\w*"
    ),
    "es": any_of(
        r"podr[íi]a\w*|quizás?|tal vez|posible\w*|probable\w*|parecen?|sugier\w+|inciert\w+|al parecer|aparentemente"
    ),
}
"""Words of what may be, by language."""
_EXPECTED = {
    "en": any_of(
        r"expect\w*|plans? to|planned|planning|forecast\w*|project(?:ed|s|ions?)(?= to|"
        r" that| by)|predict\w*|aim(?:s|ed|ing)?|"
        r"targets?|targeted|goals?|hop(?:e|es|ed|ing)|propos\w+|intend\w*|anticipat\w*|"
        r"envisag\w*|scheduled|due (?:to|in)|"
        r"should|on track"
    ),
    "de": any_of(
        r"erwart\w*|rechne[tn]?|plan(?:t|en|te|ten)|geplant\w*|prognos\w*|soll(?:en|te|"
        r"ten)?|peil\w*|anstreb\w*|angestreb\w*|"
        r"streb\w*|hoff(?:t|en|te)|will|wollen|vorgesehen|voraussichtlich\w*"
    ),
    "fr": any_of(
        r"prévoi\w*|prévu\w*|prévision\w*|atten[dt]\w*|espèr\w*|vise\w*|objectif\w*|"
        r"devrai\w+|envisag\w*|compte(?:nt)? \w+er"
    ),
    "es": any_of(
        r"espera\w*|prevé\w*|previst\w*|previsi[óo]n\w*|plane\w+|pretend\w+|objetivo\w*|aspira\w*|proyecta\w*|"
        r"deber[íi]a\w*|confía\w*"
    ),
}
"""Words of what somebody expects or plans, by language."""
_UNREAL = any_of(
    r"if|would|must|can|able|want\w*|demand\w*|fear\w*|warn\w*|argu\w+|consider\w*|"
    r"estimat\w*|wär\w*|würd\w*|hätt\w*|müss\w*|"
    r"sollt\w*|kann|können|wenn|falls|schätz\w*|si|\w+rai(?:t|ent)|estim\w*|peu(?:t|"
    r"vent)|doi(?:t|vent)|\w+r[íi]an?|pued\w+|deben?"
)
"""Words of a sentence that leaves open what is so."""
_FUTURE = {
    "en": any_of(r"will|shall|going to|next year|from|by 20[2-9]\d"),
    "de": any_of(r"werden|wird|künftig\w*|ab|nächste[sn]?"),
    "fr": any_of(r"\w+era|\w+eront|\w+ira|\w+iront|vont?|va|sera|seront|aura|auront|prochain\w*|dès"),
    "es": any_of(r"\w+rán?|van? a|próxim\w*"),
}
_CAUSE = any_of(
    r"because|caus(?:e|es|ed|ing)|(?<!is )(?<!are )due to|owing to|thanks to|"
    r"as a result of|result(?:s|ed)? in|led to|leads to|reason\w*|"
    r"on account of|responsible for|weil|wegen|aufgrund|dank|infolge|deshalb|dadurch|"
    r"verursach\w*|grund|ursache\w*|folge|"
    r"parce qu\w*|à cause d\w*|grâce|en raison|dû|due aux?|provoqu\w*|entraîn\w*|"
    r"porque|a causa de|debido|gracias|provoc\w*"
)
_CAUSAL = any_of(
    r"contribut\w*|without|ohne|sans|sin|after|since|as|so|thus|therefore|following|"
    r"from|driven|by|explain\w*|blam\w+|attribut\w*|"
    r"nach|da|durch|führ\w*|zurück\w*|verantwortlich\w*|erklär\w*|après|puisque|car|"
    r"suite|attribu\w*|expliqu\w*|responsable\w*|"
    r"tras|por|ya que|pues|culpa\w*|atribu\w*|explica\w*|motivo|razón"
)
"""Words that may name a cause."""
_MOST = any_of(
    r"at most|up to|no more than|not? (?:more|exceed\w*)(?: than)?|maximum(?: of)?|as (?:much|many|long) as|limited to|"
    r"höchstens|maximal|bis zu|nicht mehr als|au (?:plus|maximum)|jusqu['’]à|"
    r"pas plus d[e’']|peut atteindre|como máximo|"
    r"a lo sumo|hasta|no más de|máximo de"
)
_LEAST = any_of(
    r"at least|no (?:less|fewer) than|not less than|minimum(?: of)?|more than|over|"
    r"mindestens|wenigstens|nicht weniger als|"
    r"mehr als|über|au (?:moins|minimum)|pas moins d[e’']|plus d[e’']|al menos|como mínimo|por lo menos|no menos de|"
    r"más de|mínimo de"
)
_BEFORE_FIGURE = 30
_STOP = re.compile(rf"{PART.pattern}|[.!?]\s")


def foretold(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence states as a fact what the passage expects, plans or thinks possible."""
    language = said.language
    if language not in _FUTURE or any(each.language != language for each in passages) or _UNREAL.search(said.text):
        return
    possible, expected = _POSSIBLE[language], _EXPECTED[language]
    if possible.search(said.text) or expected.search(said.text):
        return
    future = _FUTURE[language].search(said.text)
    clauses = list(_clauses_of(said, passages))
    doubts = [possible.search(each) or (None if future else expected.search(each)) for each in clauses]
    if doubts and all(doubts) and (first := doubts[0]):
        yield f"“{first[0]}” was left out"


def _clauses_of(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """The clauses of passages that have a figure of a sentence; without figures, the one with most of its words."""
    figures = [each for each in said.measures if not each.year]
    if not figures:
        clauses = [each for passage in passages for part in passage.parts for each in PART.split(part.text)]
        best = max(clauses, key=lambda each: len(frozenset(stems(each)) & said.stems), default="")
        if 3 * len(frozenset(stems(best)) & said.stems) >= 2 * len(said.stems) > 2:
            yield best
        return
    for passage in passages:
        for each in passage.measures:
            if any(alike(figure, each) for figure in figures):
                yield _around(passage.text, each.at)


def _around(text: str, at: int) -> str:
    """The clause around a place of a text."""
    begin = max((match.end() for match in _STOP.finditer(text, 0, at)), default=0)
    end = _STOP.search(text, at)
    return text[begin : end.start() if end else len(text)]


def unbounded(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say which figures are at least what the passage has as at most, or the other way round."""
    for figure in said.measures:
        mine = _side(said, figure)
        exact = figure._replace(bound=0)
        theirs = [_side(each, other) for each in passages for other in each.measures if alike(exact, other)]
        if mine and theirs and all(each == -mine for each in theirs):
            yield f"{figure.text} is a bound in the other direction"


def _side(words: Words, figure: Measure) -> int:
    before = words.text[max(0, figure.at - _BEFORE_FIGURE) : figure.at]
    near = [(match.end(), side) for side, pattern in ((-1, _MOST), (1, _LEAST)) for match in pattern.finditer(before)]
    end, side = max(near, default=(0, 0))
    return side if side and not re.search(r"\d|[.;]|(?:\w+\s+){3}", before[end:]) else 0


def caused(said: Words, passages: Sequence[Words]) -> Iterator[str]:
    """Say where a sentence names a cause and its passages name none."""
    cause = _CAUSE.search(said.text)
    if cause and not any(
        _CAUSE.search(each.text) or _CAUSAL.search(part.text)
        for each in passages
        for part in each.parts
        if part.language != said.language or len(part.stems & said.stems) > 1
    ):
        yield f"“{cause[0]}” adds a cause"
