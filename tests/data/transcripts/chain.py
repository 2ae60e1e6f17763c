"""The orders of a customer, and why one is late: each tool needs the result of the one before."""

from __future__ import annotations

from leadhand import tool


@tool
def find_customer(name: str) -> dict:
    """Find a customer by name.

    Args:
        name: Such as "Meier GmbH".
    """
    return {"matches": [{"customer_id": "C-2041", "name": "Meier GmbH", "city": "Ulm"}]}


@tool
def list_orders(customer_id: str) -> dict:
    """Orders of a customer: numbers, dates and totals.

    Args:
        customer_id: Such as "C-1001".
    """
    return {
        "customer_id": customer_id,
        "orders": [
            {
                "order": "A-7781",
                "date": "2026-11-02",
                "total_eur": 1249.0,
                "status": "shipped",
                "tracking": "DHL-00340434",
            },
            {"order": "A-7902", "date": "2026-11-17", "total_eur": 318.4, "status": "late"},
            {"order": "A-7933", "date": "2026-11-20", "total_eur": 77.95, "status": "open"},
        ],
    }


@tool
def order_delay(order: str) -> dict:
    """Why an order is late, and the new delivery date.

    Args:
        order: Order number, such as "A-1000".
    """
    return {
        "order": order,
        "reason": "part EL-9 is out of stock at the supplier Öztürk & Söhne",
        "new_delivery": "2026-12-08",
        "days_late": 11,
    }
