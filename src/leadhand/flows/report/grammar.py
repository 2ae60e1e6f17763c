"""Forms of words: irregular verbs, indefinite words, bounds, and what was before and after a change."""

from __future__ import annotations

import re

from .vocabulary import any_of

_VERBS = """
    begin began begun; lose lost; fall fell fallen; rise rose risen; grow grew grown; build built; pay paid; sell sold
    buy bought; take took taken; give gave given; hold held; win won; find found; leave left; make made; send sent
    spend spent; write wrote written; break broke broken; drive drove driven; choose chose chosen; come came
    become became; steigen stieg stiegen gestiegen; sinken sank sanken gesunken; fallen fiel fielen gefallen
    brechen brach brachen gebrochen; halten hielt hielten gehalten; liegen lag lagen gelegen; geben gab gaben gegeben
    nehmen nahm nahmen genommen
"""
IRREGULAR = {
    form: forms.split()[0] for forms in _VERBS.strip().replace("\n", ";").split(";") for form in forms.split()[1:]
}
"""Forms of irregular verbs, with their first form."""


EXCEEDS = any_of(r"exceed\w*|dépass\w*|supera\w*|excede\w*|überschreit\w*")
INDEFINITE = any_of(
    r"somebody|someone|something|several|people|persons?|jemand|etwas|mehrere|einige|menschen|personen|leute|quelqu['’]un|"
    r"plusieurs|des personnes|gens|alguien|vari[ao]s|personas|gente"
)
"""Words for somebody and something, of which a negation says nobody and nothing."""
BOUNDS = any_of(
    r"not? (?:\w+ )?(?:exceed\w*|more than|less than|fewer than)|no (?:more|less|fewer) than|nicht über|"
    r"nicht (?:mehr|weniger) als|(?:ne|n['’]a|n['’]ont) (?:pas )?dépass\w+(?: pas)?|pas plus d[e’']|"
    r"no (?:supera\w*|más de|menos de|excede\w*)"
)
"""Bounds with the words of a negation: "no more than 40"."""
# What was before, and what came after it.
_FIGURE = r"(?<![\w.,])[€$£]?(\d+(?:[.,\s]\d+)*)"
_GAP = r"[^\d.;:]{0,30}?"
_EARLIER = (
    r"(?=[^.;]*\b(?:(?:in|im|en) (?:19|20)\d\d|previous|before|earlier|ago|vorjahr|zuvor|précédent|auparavant|avant|"
    r"prévu|anterior|antes)\w*)"
)
_SINCE = r"(?:instead of|rather than|statt|anstatt|au lieu d[e’']|en vez de|(?:up|down) from|desde)"
_BESIDE = r"(?:against|compared (?:with|to)|contre|gegenüber|frente a|nach)"
CHANGES = (
    (re.compile(rf"\b(?:from|von|de|desde) {_FIGURE}{_GAP}\b(?:to|auf|à|a) {_FIGURE}", re.IGNORECASE), True),
    (re.compile(rf"{_FIGURE}{_GAP}\b{_SINCE} ?{_GAP}{_FIGURE}", re.IGNORECASE), False),
    (re.compile(rf"{_FIGURE}[^.;]{{0,40}}?\b{_BESIDE} {_FIGURE}{_EARLIER}", re.IGNORECASE), False),
)
"""Where a text names a figure before and one after a change, and whether they are in this order."""
