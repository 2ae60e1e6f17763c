"""Units that texts use, and how many of another unit one of each is."""

from __future__ import annotations

from .figures import SPAN


def _units(table: str) -> dict[str, tuple[str, tuple[float, ...]]]:
    """For each unit that a text may use: what it measures, and how many of another unit one of it is."""
    found: dict[str, tuple[str, tuple[float, ...]]] = {}
    for group in table.strip().split("\n\n"):
        measured, *lines = group.split("\n")
        for line in lines:
            names, _, factors = line.partition(":")
            found |= dict.fromkeys(
                names.split(), (measured.strip(), tuple(float(factor) for factor in factors.split()))
            )
    return found


CONVERSIONS = _units("""
    time
    h hr hrs hour hours stunde stunden heure heures hora horas: 60 3600 0.0416666667 3600000
    min mins minute minutes minuten minutos: 60 0.0166666667 60000
    s sec secs second seconds sekunden secondes segundos: 1000 0.001 0.0166666667 0.000277778 1000000
    ms millisecond milliseconds: 0.001 1000 0.000001
    day days tag tage jour jours día días: 24 1440 86400 0.142857143 86400000
    week weeks woche wochen semaine semaines: 7 168 604800
    month months monat monate mois: 0.0833333333 30 30.4375
    year years jahr jahre ans año años: 12 365 365.25 52

    length
    km kilometre kilometres kilometer kilometers kilomètres: 1000 0.62137119 0.001 0.53995680
    m metre metres meter meters mètres: 0.001 3.2808399 100 1000
    cm centimetre centimetres centimeter centimeters: 0.01 10 0.39370079
    mm millimetre millimetres millimeter millimeters: 0.1 0.001 0.039370079
    mi mile miles meilen: 1609.344 1.609344
    ft foot feet: 0.3048 12 0.0001893939
    in inch inches: 2.54 25.4

    speed
    km/h kmh: 0.277777778 0.62137119 0.53995680
    m/s: 3.6 2.23693629
    mph: 1.609344 0.44704
    kn knots: 1.852 0.514444

    mass
    kg kilogram kilograms kilo kilos: 1000 2.20462262 0.001
    g gram grams: 0.001 0.03527396
    t ton tons tonne tonnes: 1000 1000000
    lb lbs: 0.45359237 453.59237

    volume
    l litre litres liter liters: 1000 0.26417205

    data
    kb: 1000 1024 0.001
    mb: 1000000 1048576 1000 1024 0.001
    gb: 1000000000 1073741824 1000 1024 1000000 1048576
    tb: 1000000000000 1000 1024

    energy
    kwh: 1000 0.001

    power
    kw: 1000 0.001

    money
    cent cents: 0.01
    € $ £ eur euro euros usd dollar dollars: 100
""")


def measured_by(unit: str) -> str:
    """What a unit measures; "" for a word that is not known as a unit."""
    return CONVERSIONS["min" if unit == SPAN else unit][0] if unit in CONVERSIONS or unit == SPAN else ""


def unit_is_share(unit: str) -> bool:
    """Whether a figure with this unit is a share of something."""
    return unit[:1] == "%" or unit in ("percent", "per", "prozent", "pct")
