"""Names that qualify a place ("Paris, Texas"): countries, states and provinces, and their codes."""

from __future__ import annotations

from typing import NamedTuple

from .words import word_set

_COUNTRIES = word_set(
    """afghanistan albania algeria andorra angola antigua_and_barbuda argentina armenia australia austria azerbaijan
    bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia bosnia_and_herzegovina
    botswana brazil brunei bulgaria burkina_faso burundi cambodia cameroon canada cape_verde chad chile china colombia
    comoros congo costa_rica croatia cuba cyprus czechia czech_republic denmark djibouti dominica dominican_republic
    ecuador egypt el_salvador eritrea estonia eswatini ethiopia fiji finland france gabon gambia germany ghana greece
    greenland grenada guatemala guinea guyana haiti honduras hong_kong hungary iceland india indonesia iran iraq ireland
    israel italy italia ivory_coast jamaica japan jordan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon
    lesotho liberia libya liechtenstein lithuania luxembourg macau madagascar malawi malaysia maldives mali malta
    mauritania mauritius mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands
    the_netherlands holland new_zealand nicaragua niger nigeria north_korea north_macedonia norway oman pakistan
    palestine panama papua_new_guinea paraguay peru philippines poland portugal puerto_rico qatar romania russia rwanda
    samoa san_marino saudi_arabia senegal serbia seychelles sierra_leone singapore slovakia slovenia somalia
    south_africa south_korea korea south_sudan spain españa sri_lanka sudan suriname sweden switzerland syria taiwan
    tajikistan tanzania thailand togo tonga trinidad_and_tobago tunisia turkey türkiye turkmenistan turks_and_caicos
    uganda ukraine united_arab_emirates united_kingdom great_britain britain united_states america uruguay uzbekistan
    vanuatu venezuela vietnam yemen zambia zimbabwe"""
)
_STATES = word_set(
    """alabama alaska arizona arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois
    indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana
    nebraska nevada new_hampshire new_jersey new_mexico new_york north_carolina north_dakota ohio oklahoma oregon
    pennsylvania rhode_island south_carolina south_dakota tennessee texas utah vermont virginia washington west_virginia
    wisconsin wyoming alberta british_columbia manitoba new_brunswick newfoundland newfoundland_and_labrador nova_scotia
    ontario quebec québec saskatchewan yukon england scotland wales northern_ireland new_south_wales queensland
    south_australia western_australia tasmania bavaria hesse saxony brandenburg tuscany sicily lombardy catalonia
    andalusia brittany normandy provence tyne_and_wear brighton_and_hove"""
)
_STATE_CODES = word_set(
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC D.C AB BC MB NB NL NS ON PE QC SK NSW QLD"
)
_COUNTRY_CODES = word_set(
    "US USA U.S U.S.A UK U.K GB UAE EU AT AU BE BR CH CN CZ DK ES FI FR GR HU IE IT JP KR MX NO NZ PL PT RO RU SE SG TR"
)
# Codes that are words in lower case: "paris, or rome", "paris, in the morning".
_WORDS = word_set("al de hi id in la ma me mi mo no nd on or ok oh pa pe us it be at es fi se")
# Names that are also cities: in a list they are one more place, at its end a qualifier.
_CITIES = word_set(
    "new_york washington quebec québec singapore luxembourg monaco panama guatemala kuwait djibouti mexico"
)


class Region(NamedTuple):
    """A region at the beginning of some words: the number of its ``words``, and its ``level`` (1 state, 2 country)."""

    words: int
    level: int
    city: bool = False
    code: bool = False


def region_at(words: list[str]) -> Region | None:
    """Return the region whose name or code ``words`` begin with, the longest if there are several."""
    for count in range(min(4, len(words)), 0, -1):
        name = "_".join(words[:count]).casefold()
        if level := level_of(name):
            return Region(count, level, city=name in _CITIES)
    code = words[0].upper() if words and (words[0].isupper() or words[0].casefold() not in _WORDS) else ""
    if code in _COUNTRY_CODES or code in _STATE_CODES:
        return Region(1, 2 if code in _COUNTRY_CODES else 1, code=True)
    return None


def level_of(name: str) -> int:
    """Return the level of a name on its own: 0 for a place, 1 for a state, 2 for a country."""
    return 1 if name in _STATES else 2 if name in _COUNTRIES else 0
