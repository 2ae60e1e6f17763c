"""A shop with prices, stock, a calendar and sales."""

from __future__ import annotations

from leadhand import tool

CATALOGUE = {
    "X100": {"name": "Brother HL-L2400DW", "price_eur": 129.90, "list_price_eur": 159.00, "warranty_months": 36},
    "X200": {"name": "Kyocera PA2001w", "price_eur": 104.50, "list_price_eur": 119.00, "warranty_months": 24},
    "X300": {"name": "HP LaserJet M110we", "price_eur": 89.99, "list_price_eur": 119.90, "warranty_months": 12},
}
STOCK = {
    "X100": {"Hamburg": 14, "München": 0, "Köln": 3},
    "X200": {"Hamburg": 2, "München": 25, "Köln": 40},
    "X300": {"Hamburg": 0, "München": 0, "Köln": 0},
}


@tool
def price_lookup(article: str) -> dict:
    """Price of an article, gross, with warranty.

    Args:
        article: Article number, such as "X100".
    """
    return {"article": article, **CATALOGUE[article], "currency": "EUR", "vat_rate": 0.19}


@tool
def stock_lookup(article: str) -> dict:
    """Pieces in stock of an article, by warehouse.

    Args:
        article: Article number, such as "X100".
    """
    return {
        "article": article,
        "stock": STOCK[article],
        "updated": "2026-11-24T05:00:00+01:00",
        "next_delivery": "2026-12-03" if article == "X300" else None,
    }


@tool
def calendar_lookup(person: str, week: str) -> dict:
    """Appointments of a person in an ISO week.

    Args:
        person: First name, such as "Anna".
        week: ISO week, such as "2026-W49".
    """
    return {
        "person": person,
        "week": week,
        "appointments": [
            {"day": "2026-11-30", "from": "09:00", "to": "10:30", "title": "Jour fixe Einkauf"},
            {"day": "2026-12-01", "from": "13:00", "to": "17:00", "title": "Workshop Lager Köln"},
            {"day": "2026-12-03", "from": "08:30", "to": "12:00", "title": "Inventur"},
            {"day": "2026-12-04", "from": "14:00", "to": "15:00", "title": "1:1 mit Jürgen Groß"},
        ],
    }


@tool
def sales_csv(quarter: str) -> dict:
    """Sales of printers by region and month from the CSV of a quarter.

    Args:
        quarter: Such as "2026-Q3".
    """
    rows = []
    base = {"X100": 120, "X200": 75, "X300": 210}
    for month_number, month in enumerate(["2026-07", "2026-08", "2026-09"]):
        for region, factor in {"Nord": 1.0, "Süd": 1.4, "West": 0.8, "Ost": 0.55}.items():
            for article, first in base.items():
                units = int(first * factor * (1 + 0.1 * month_number * (1 if article != "X300" else -1)))
                rows.append(
                    {
                        "month": month,
                        "region": region,
                        "article": article,
                        "units": units,
                        "returns": units // 23,
                        "channel": {"online": units * 2 // 3, "shop": units - units * 2 // 3},
                    }
                )
    return {
        "quarter": quarter,
        "columns": ["month", "region", "article", "units", "returns", "channel"],
        "rows": rows,
        "meta": {"source": "sales_2026q3.csv", "exported": "2026-10-02", "rows": len(rows)},
    }
