"""Match the part after the comma, such as ``Texas``, ``TX``, ``France`` or ``FR``, with a place."""

from __future__ import annotations

from .geography import Place, fold

_STATES = {
    "US": "al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,de delaware,"
    "dc district of columbia,fl florida,ga georgia,hi hawaii,id idaho,il illinois,in indiana,ia iowa,ks kansas,"
    "ky kentucky,la louisiana,me maine,md maryland,ma massachusetts,mi michigan,mn minnesota,ms mississippi,"
    "mo missouri,mt montana,ne nebraska,nv nevada,nh new hampshire,nj new jersey,nm new mexico,ny new york,"
    "nc north carolina,nd north dakota,oh ohio,ok oklahoma,or oregon,pa pennsylvania,pr puerto rico,ri rhode island,"
    "sc south carolina,sd south dakota,tn tennessee,tx texas,ut utah,vt vermont,va virginia,wa washington,"
    "wv west virginia,wi wisconsin,wy wyoming",
    "CA": "ab alberta,bc british columbia,mb manitoba,nb new brunswick,nl newfoundland and labrador,ns nova scotia,"
    "nt northwest territories,nu nunavut,on ontario,pe prince edward island,qc quebec,sk saskatchewan,yt yukon",
    "AU": "act australian capital territory,nsw new south wales,nt northern territory,qld queensland,"
    "sa south australia,tas tasmania,vic victoria,wa western australia",
}
"""Postal abbreviations of states and provinces, as people write them after a comma."""

_COUNTRIES = {
    "america": "US",
    "usa": "US",
    "united states of america": "US",
    "britain": "GB",
    "great britain": "GB",
    "uk": "GB",
    "czech republic": "CZ",
    "holland": "NL",
    "the netherlands": "NL",
    "korea": "KR",
    "turkey": "TR",
    "uae": "AE",
}
"""Country names that geocoders spell otherwise."""


def is_said_of(qualifier: str, place: Place) -> bool:
    """Whether the place lies in what ``qualifier`` names: a country, state, county or city, or an abbreviation of one.

    Case, accents and punctuation do not count. ``CA`` is said of California and of Canada alike.
    """
    word = fold(qualifier)
    code = place.country_code.upper()
    if word in (code.lower(), fold(place.country)) or _COUNTRIES.get(word) == code != "":
        return True
    region = fold(place.region)
    return word in (region, fold(place.city), *map(fold, place.areas)) or f"{word} {region}" in _STATES.get(
        code, ""
    ).split(",")
