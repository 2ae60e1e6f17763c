"""The queues of limits that all processes of a database share: the first tickets of a queue hold its places.

A ticket is a row. One that holds a place has the number of its arrival. One that waits has a larger number, which
begins with its priority, so that the tickets are in the order in which they get places. Every write gives the places
that are free, under the lock of the queue: a ticket that holds a place keeps it until its row is deleted, by its
process or by another one once that process is dead. Nothing here depends on a clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence

from leadhand.core.run import HIGHEST_PRIORITY
from leadhand.ports import Places

from .connection import Connection, Hold, Table

TICKETS = Table("places", "name, ticket, host")
WAITING = 2**40
"""The smallest number of a ticket that waits."""
LOOKING_S = 1.0
"""Seconds between two checks that the processes ahead in a queue are alive."""
# Locks the queue until the commit, so that no ticket is committed after a later one.
NUMBER = (
    "INSERT INTO gates (name, free_at, used_at, last_ticket) VALUES (?, 0, 0, ?)"
    " ON CONFLICT (name) DO UPDATE SET last_ticket = gates.last_ticket + ? RETURNING last_ticket"
)
GIVE = "UPDATE places SET ticket = ticket % ? WHERE name = ? AND ticket BETWEEN ? AND ?"


def places(connection: Connection, host: str, name: str, most: int, *, give: bool = False) -> Places:
    """Return the tickets of a host that hold one of the ``most`` places of a queue, and how many others there are.

    ``give`` gives the places that are free to those who wait, which only who has locked the queue may do.
    """
    ahead = "SELECT ticket, host FROM places WHERE name = ? ORDER BY ticket LIMIT ?"
    first = connection.execute(ahead, (name, most))
    if give and first and first[-1][0] >= WAITING:
        connection.execute(GIVE, (WAITING, name, WAITING, first[-1][0]))
        first = [(ticket % WAITING, owner) for ticket, owner in first]
    holding = [(ticket, owner) for ticket, owner in first if ticket < WAITING]
    ((everything,),) = connection.execute("SELECT count(*) FROM places WHERE name = ?", (name,))
    mine = frozenset(ticket for ticket, owner in holding if owner == host)
    return Places(held=mine, in_use=len(holding), waiting=everything - len(holding))


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
        TICKETS.delete(connection, "name, ticket, host", [(name, ticket, host) for ticket in done])
        mine = connection.execute("SELECT ticket FROM places WHERE name = ? AND host = ? ORDER BY ticket", (name, host))
        missing, surplus = Counter(want), list[int]()
        for (ticket,) in mine:
            if ticket in held:
                continue
            # The process does not know yet of a ticket that holds a place: it had the highest priority.
            priority = HIGHEST_PRIORITY + 1 - ticket // WAITING if ticket >= WAITING else max(missing, default=0)
            if missing[priority]:
                missing -= Counter([priority])
            else:
                surplus.append(ticket)
        TICKETS.delete(connection, "name, ticket, host", [(name, ticket, host) for ticket in surplus])
        rows = [
            (name, (HIGHEST_PRIORITY + 1 - priority) * WAITING + last - number, host)
            for number, priority in enumerate(missing.elements())
        ]
        TICKETS.insert(connection, rows)
        found = places(connection, host, name, most, give=True)
        if found.waiting and self._delete_dead(connection, name):
            found = places(connection, host, name, most, give=True)
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
