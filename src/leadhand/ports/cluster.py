"""What processes on many machines need of the store that they share: a queue of jobs, and who is alive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from leadhand.ports.hosts import Announcement, HostLine, QueueInfo

CARRY_OUT = "carry_out"
DRIVE = "drive"
VERSION = 1
"""The version of the arguments of jobs."""
LARGEST_MESSAGE = 7_900
"""The most bytes of a message between processes, in UTF-8: PostgreSQL's limit is 8,000."""


class Job(NamedTuple):
    """What any host may do: drive a run, or carry out ``attempts`` of it. It holds names only; the log has the rest."""

    task: str
    run_id: str
    attempts: tuple[str, ...] = ()
    priority: int = 0

    @property
    def queue(self) -> str:
        """The queue that hosts look for it in."""
        return f"leadhand.{self.task}"

    @property
    def lock(self) -> str | None:
        """What at most one waiting job may have: of a job to drive a run, its id."""
        return self.run_id if self.task == DRIVE else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the job's task."""
        attempts = {"attempts": list(self.attempts)} if self.attempts else {}
        return {"version": VERSION, "run_id": self.run_id, **attempts}


@runtime_checkable
class ClusterStore(Protocol):
    """A context store that processes on many machines share. Every method may raise StoreError.

    Its ``append`` also takes ``jobs``, which are committed with the events, and ``begins``, an attempt that must
    neither have begun nor ended: StaleAttempt. Its ``create`` takes ``jobs``, too: then no process owns the new run.
    """

    @property
    def is_shared(self) -> bool:
        """Whether other machines can use the same database."""
        ...

    @property
    def host(self) -> str:
        """The id of this process."""
        ...

    async def announce(self, said: Announcement, doing: Callable[[], Sequence[str]]) -> None:
        """Show this process among the hosts until the store is closed; ``doing``, called in a thread, returns the
        attempts that it carries out, as ``run/attempt``.
        """
        ...

    async def drain(self) -> None:
        """Show that this process takes no new work."""
        ...

    async def hosts(self) -> list[HostLine]:
        """Return the living processes, with what they have announced."""
        ...

    async def living(self, hosts: Collection[str]) -> set[str]:
        """Return those of these processes that are alive."""
        ...

    async def queue(self) -> QueueInfo:
        """Return what waits in the queue."""
        ...

    async def defer(self, jobs: Sequence[Job]) -> None:
        """Add jobs to the queue."""
        ...

    def listen(self, hear: Callable[[str], None], connected: Callable[[], None]) -> None:
        """Call ``hear`` on this event loop with each message of other processes, until the store is closed.

        ``connected`` is called at the beginning, and again after messages may have been lost. Only the first call of
        this method counts.
        """
        ...

    def send(self, messages: Sequence[str]) -> None:
        """Send messages of at most LARGEST_MESSAGE bytes to the processes that listen; any may be lost."""
        ...
