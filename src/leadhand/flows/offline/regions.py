"""Names that say which Paris is meant: countries, states and provinces, and the codes for them.

A comma before one of these binds it to the place ("Paris, Texas" is one place); any other comma separates places.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .words import word_set

_COUNTRIES = """afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas
bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia|bosnia_and_herzegovina botswana brazil
brunei bulgaria burkina_faso burundi cambodia cameroon canada cape_verde|cabo_verde chad chile china colombia comoros
congo|democratic_republic_of_the_congo|dr_congo costa_rica croatia cuba cyprus czechia|czech_republic denmark djibouti
dominica dominican_republic ecuador egypt el_salvador eritrea estonia eswatini ethiopia fiji finland france gabon
gambia germany|deutschland ghana greece greenland grenada guatemala guinea guyana haiti honduras hong_kong
hungary iceland india indonesia iran iraq ireland|republic_of_ireland israel italy|italia ivory_coast|cote_d'ivoire
jamaica japan jordan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein
lithuania luxembourg macau madagascar malawi malaysia maldives mali malta mauritania mauritius mexico moldova monaco
mongolia montenegro morocco mozambique myanmar namibia nepal netherlands|the_netherlands|holland new_zealand nicaragua
niger nigeria north_korea north_macedonia|macedonia norway oman pakistan palestine panama papua_new_guinea paraguay
peru philippines poland portugal puerto_rico qatar romania russia|russian_federation rwanda samoa san_marino
saudi_arabia senegal serbia seychelles sierra_leone singapore slovakia slovenia somalia south_africa south_korea|korea
south_sudan spain|espana|españa sri_lanka sudan suriname sweden switzerland syria taiwan tajikistan tanzania thailand
togo tonga trinidad_and_tobago tunisia turkey|turkiye|türkiye turkmenistan uganda ukraine
united_arab_emirates united_kingdom|great_britain|britain united_states|united_states_of_america|america uruguay
uzbekistan vanuatu venezuela vietnam yemen zambia zimbabwe"""

_STATES = """alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho
illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota
mississippi missouri montana nebraska nevada new_hampshire new_jersey new_mexico new_york north_carolina
north_dakota ohio oklahoma oregon pennsylvania rhode_island south_carolina south_dakota tennessee texas
utah vermont virginia washington west_virginia wisconsin wyoming district_of_columbia alberta
british_columbia manitoba new_brunswick newfoundland newfoundland_and_labrador nova_scotia ontario
prince_edward_island quebec québec saskatchewan yukon england scotland wales northern_ireland
new_south_wales queensland south_australia western_australia tasmania bavaria hesse saxony brandenburg
tuscany sicily lombardy catalonia andalusia brittany normandy provence"""

# Two- and three-letter codes: of US states and Canadian provinces, and the usual ones of countries.
_STATE_CODES = """AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND
OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC D.C AB BC MB NB NL NS ON PE QC SK NSW QLD"""
_COUNTRY_CODES = """US USA U.S U.S.A UK U.K GB UAE EU AT AU BE BR CH CN CZ DK ES FI FR GR HU IE IT JP KR MX NO NZ PL PT
RO RU SE SG TR UA ZA"""

# Codes that are words when written small: "paris, or rome", "paris, in the morning".
_WORDS = word_set("al de hi id in la ma me mi mo no nd on or ok oh pa pe so us it is be at am an as es fi se")

# Names that are cities as well: in a list they are one more place, at its end a qualifier.
_AMBIGUOUS = word_set(
    "new_york washington quebec québec singapore luxembourg monaco panama guatemala kuwait djibouti mexico hong_kong "
    "san_marino macau"
)

_LONGEST = 4


class Region(NamedTuple):
    """A region's name in a row of words: how many ``words`` it takes, its ``level`` (1 state, 2 country)."""

    words: int
    level: int
    ambiguous: bool
    code: bool


@cache
def _names() -> dict[str, int]:
    names = {alias: 2 for entry in _COUNTRIES.split() for alias in entry.split("|")}
    # Georgia is both; as a state it binds behind a city all the same, and before "USA".
    names.update((state, 1) for state in _STATES.split())
    return names


@cache
def _codes() -> dict[str, int]:
    return {**dict.fromkeys(_COUNTRY_CODES.split(), 2), **dict.fromkeys(_STATE_CODES.split(), 1)}


def region_at(words: list[str], lows: list[str]) -> Region | None:
    """The region whose name or code ``words`` begin with, the longest of several; ``lows``: the same, folded."""
    names = _names()
    for count in range(min(_LONGEST, len(lows)), 0, -1):
        name = "_".join(lows[:count])
        if name in names:
            return Region(count, names[name], name in _AMBIGUOUS, code=False)
    if words and (words[0].isupper() or lows[0] not in _WORDS):
        level = _codes().get(words[0].upper())
        if level is not None:
            return Region(1, level, ambiguous=False, code=True)
    return None


def level_of(lows: list[str]) -> int:
    """What kind of thing a name is on its own: 0 a place, 1 a state, 2 a country."""
    return _names().get("_".join(lows), 0)
