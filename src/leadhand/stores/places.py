"""The queues of limits that all processes of a database share: a ticket is a row, which waits or holds a place.

Every write gives the places that are free to the tickets of the highest priority, and among equals to the first, under
the lock of the queue. A ticket that holds a place keeps it until its row is deleted, by its process or by another one
once that process is dead. Nothing here depends on a clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence

from leadhand.ports import Places

from .connection import Connection, Hold, Table

TICKETS = Table("places", "name, ticket, host, priority, held")
LOOKING_S = 1.0
"""Seconds between two checks that the processes in a queue are alive."""
# Locks the queue until the commit, so that no ticket is committed after a later one.
NUMBER = (
    "INSERT INTO gates (name, free_at, last_ticket) VALUES (?, 0, ?)"
    " ON CONFLICT (name) DO UPDATE SET last_ticket = gates.last_ticket + ? RETURNING last_ticket"
)
GIVE = (
    "UPDATE places SET held = 1 WHERE name = ? AND held = 0 AND ticket IN"
    " (SELECT ticket FROM places WHERE name = ? ORDER BY held DESC, priority DESC, ticket LIMIT ?)"
)


def places(connection: Connection, host: str, name: str) -> Places:
    """Return the tickets of a host that hold a place of a queue, and how many others there are."""
    holding = connection.execute("SELECT ticket, host FROM places WHERE name = ? AND held = 1", (name,))
    ((waiting,),) = connection.execute("SELECT count(*) FROM places WHERE name = ? AND held = 0", (name,))
    mine = frozenset(ticket for ticket, owner in holding if owner == host)
    return Places(held=mine, in_use=len(holding), waiting=waiting)


class Queues:
    """Writes the tickets of one process."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._looked: dict[str, float] = {}

    def queue_up(
        self,
        connection: Connection,
        name: str,
        most: int,
        want: Sequence[int],
        held: Collection[int],
        done: Sequence[int],
    ) -> Places:
        """Change the tickets of this process, and give the places that are free: see the port."""
        host, gate = self._hold.host, f"places of {name}"
        ((last,),) = connection.execute(NUMBER, (gate, len(want), len(want)))
        missing, unwanted = Counter(want), list(done)
        mine = "SELECT ticket, priority FROM places WHERE name = ? AND host = ? ORDER BY held DESC, ticket"
        for ticket, priority in connection.execute(mine, (name, host)):
            if ticket in held or ticket in done:
                continue
            if missing[priority]:
                missing[priority] -= 1
            else:
                unwanted.append(ticket)
        TICKETS.delete(connection, "name, ticket, host", [(name, ticket, host) for ticket in unwanted])
        new = enumerate(missing.elements())
        TICKETS.insert(connection, [(name, last - number, host, priority, 0) for number, priority in new])
        connection.execute(GIVE, (name, name, most))
        found = places(connection, host, name)
        if found.waiting and self._delete_dead(connection, name):
            connection.execute(GIVE, (name, name, most))
            found = places(connection, host, name)
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
