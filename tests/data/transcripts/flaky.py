"""Tools that fail: for good, at the first call, and with a placeholder in place of a result."""

from __future__ import annotations

from leadhand import FailureClass, ToolError, tool

asked = 0


@tool
def train_times(origin: str, destination: str) -> dict:
    """Next trains between two stations.

    Args:
        origin: Station, such as "Köln Hbf".
        destination: Station.
    """
    raise ToolError(
        "the timetable service has been shut down",
        type="gone",
        class_=FailureClass.UNAVAILABLE,
        next_action="use another source",
    )


@tool(retries=0)
def fuel_price(city: str) -> dict:
    """Price of petrol (E10) in a city, in EUR per litre.

    Args:
        city: Such as "Köln".
    """
    global asked
    asked += 1
    if asked == 1:
        raise ConnectionError("connection reset by peer")
    return {"city": city, "fuel": "E10", "eur_per_litre": 1.729, "stations": 14}


@tool
def exchange_rate(base: str, quote: str) -> dict:
    """Exchange rate of the European Central Bank.

    Args:
        base: Currency, such as "EUR".
        quote: Currency, such as "CHF".
    """
    return {"base": base, "quote": quote, "rate": -1, "date": "1970-01-01", "note": "placeholder"}
