"""The queues of limits that all processes of a database share: the first tickets of a queue hold its places.

A ticket is a row. Tickets are numbered in the order of their commits, so a ticket only ever moves towards the front,
and one that holds a place keeps it until its row is deleted: by its process, or by another one once that process is
dead. Nothing here depends on a clock.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from leadhand.ports import Places

from .connection import Connection, Hold, Table

TICKETS = Table("places", "name, ticket, host")
LOOKING_S = 1.0
"""Seconds between two checks that the processes ahead in a queue are alive."""
# Locks the queue until the commit, so that no ticket is committed after a later one.
NUMBER = (
    "INSERT INTO gates (name, free_at, used_at, last_ticket) VALUES (?, 0, 0, ?)"
    " ON CONFLICT (name) DO UPDATE SET last_ticket = gates.last_ticket + ? RETURNING last_ticket"
)


def places(connection: Connection, host: str, name: str, most: int) -> Places:
    """Return the tickets of a host that hold one of the ``most`` places of a queue, and how many others there are."""
    ahead = "SELECT ticket, host FROM places WHERE name = ? ORDER BY ticket LIMIT ?"
    first = connection.execute(ahead, (name, most))
    ((everything,),) = connection.execute("SELECT count(*) FROM places WHERE name = ?", (name,))
    mine = frozenset(ticket for ticket, owner in first if owner == host)
    return Places(held=mine, in_use=len(first), waiting=everything - len(first))


class Queues:
    """Writes the tickets of one process."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._looked: dict[str, float] = {}

    def queue_up(
        self, connection: Connection, name: str, most: int, want: int, held: Collection[int], done: Sequence[int]
    ) -> Places:
        """Delete the tickets ``done``, and have ``want`` tickets in the queue besides those that are ``held``.

        Doing it twice does no more than doing it once, as the answer to a commit may be lost.
        """
        host, gate = self._hold.host, f"places of {name}"
        ((last,),) = connection.execute(NUMBER, (gate, want, want))
        TICKETS.delete(connection, "name, ticket, host", [(name, ticket, host) for ticket in done])
        mine = connection.execute("SELECT ticket FROM places WHERE name = ? AND host = ? ORDER BY ticket", (name, host))
        waiting = [ticket for (ticket,) in mine if ticket not in held]
        TICKETS.delete(connection, "name, ticket, host", [(name, ticket, host) for ticket in waiting[want:]])
        missing = want - len(waiting)
        TICKETS.insert(connection, [(name, last - number, host) for number in reversed(range(missing))])
        found = places(connection, host, name, most)
        if found.waiting and self._delete_dead(connection, name):
            found = places(connection, host, name, most)
        return found

    def _delete_dead(self, connection: Connection, name: str) -> bool:
        """Delete the tickets of dead processes, if they were not looked for a moment ago; return whether any were."""
        now = time.monotonic()
        if now < self._looked.get(name, now):
            return False
        self._looked[name] = now + LOOKING_S
        rows = connection.execute("SELECT DISTINCT host FROM places WHERE name = ?", (name,))
        hosts = {host for (host,) in rows}
        dead = hosts - self._hold.living(hosts, connection) - {self._hold.host}
        TICKETS.delete(connection, "name, host", [(name, host) for host in sorted(dead)])
        return bool(dead)
