"""Gates: limit how often a service is called, across all processes that share the database."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from .connection import Connection, Dialect


def pass_gate(connection: Connection, dialect: Dialect, name: str, interval_s: float) -> float:
    """Reserve the next free moment of a gate, and return the seconds until then.

    One statement with the database's own clock, so that neither processes nor clocks can disagree.
    """
    interval = int(interval_s * 1_000_000)
    now = dialect.now
    ((wait,),) = connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {now} + ?) ON CONFLICT (name) DO UPDATE"
        f" SET free_at = CASE WHEN gates.free_at > {now} THEN gates.free_at ELSE {now} END + ?"
        f" RETURNING free_at - ? - {now}",
        (name, interval, interval, interval),
    )
    return max(wait, 0) / 1_000_000


def hold_gate(connection: Connection, dialect: Dialect, name: str, seconds: float) -> None:
    """Keep a gate closed for at least ``seconds`` from now; the longest hold counts."""
    until = f"{dialect.now} + ?"
    held = int(seconds * 1_000_000)
    connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {until}) ON CONFLICT (name) DO UPDATE"
        f" SET free_at = CASE WHEN gates.free_at > excluded.free_at THEN gates.free_at ELSE excluded.free_at END",
        (name, held),
    )
