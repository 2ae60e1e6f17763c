"""What a transaction of the log writes: its tables, and how rows are inserted, replaced or deleted in each."""

from __future__ import annotations

from collections.abc import Sequence

from .connection import Change, Table
from .run_row import FIXED, RUNS
from .webhooks import DELIVERIES

EVENTS = Table("events", "run_id, seq, at, epoch, type, version, subject, body")
RESERVATIONS = Table("reservations", "run_id, attempt, call_id, requests, tokens, nanousd, scopes, shared")
SHARED = Table(
    "shared_accounts",
    "scope, spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
)
ALLOWANCES = Table(
    "allowances",
    "run_id, scope, ceiling_requests, ceiling_tokens, ceiling_nanousd,"
    " spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
)
BLOBS = Table("blobs", "digest, body")


def _replacing(table: Table, key: str, changing: Sequence[str]) -> Change:
    columns = ", ".join(f"{name} = excluded.{name}" for name in changing)
    return Change(table, f" ON CONFLICT ({key}) DO UPDATE SET {columns}")


def _deleting(name: str, key: str) -> Change:
    return Change(Table(name, key), deletes=True)


ADD_EVENTS = Change(EVENTS)
WRITE_RUNS = _replacing(RUNS, "run_id", RUNS.columns.split(", ")[FIXED:])
SETTLE = _deleting("reservations", "run_id, attempt, call_id")
RESERVE = Change(RESERVATIONS)
WRITE_ALLOWANCES = _replacing(ALLOWANCES, "run_id, scope", ALLOWANCES.columns.split(", ")[2:])
WRITE_SHARED = _replacing(SHARED, "scope", SHARED.columns.split(", ")[1:])
ADD_BLOBS = Change(BLOBS, " ON CONFLICT (digest) DO NOTHING")
ADD_DELIVERIES = Change(DELIVERIES)
