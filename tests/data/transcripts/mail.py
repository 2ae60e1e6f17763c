"""Contacts, and mails: a tool with an effect."""

from __future__ import annotations

from leadhand import tool


@tool
def find_contact(name: str) -> dict:
    """Find the email address of a person.

    Args:
        name: Such as "Carla".
    """
    return {"name": "Carla Benítez", "email": "carla.benitez@example.org", "team": "Finance"}


@tool(effect="once")
def send_mail(to: str, subject: str, body: str) -> dict:
    """Send an email.

    Args:
        to: Email address.
        subject: Subject line.
        body: Text of the mail.
    """
    return {"sent": True, "message_id": "<20261124.1@example.org>", "to": to}
