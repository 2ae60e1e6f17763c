"""What keeps runs and their parts: every store keeps logs, and a database also what servers and hosts need."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, Unpack, runtime_checkable

from leadhand.core.artifact import FileVersion
from leadhand.core.errors import ConfigurationError, StoreError
from leadhand.core.events import AnyEvent, Entry, RunStarted
from leadhand.core.value import Json, Value

if TYPE_CHECKING:
    from leadhand.ports.heads import RunHead
    from leadhand.ports.hosts import HostLine, QueueInfo
    from leadhand.ports.runs import RunFilter, RunListing, StoreInfo
    from leadhand.ports.webhooks import Delivery


Document = TypeVar("Document", bound=Value)

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


class ContextStore(Protocol):
    """Stores events: one append-only sequence for each run, from which everything else is computed.

    Every method may raise StoreError, and NoSuchRun if it names a run (:mod:`leadhand.core.errors`).
    """

    @property
    def host(self) -> str:
        """The id of this process at the store: the owner of the runs that it drives."""
        ...

    async def create(self, run_id: str, started: RunStarted) -> Entry:
        """Create a run, owned by this host under epoch 1. Raises UsageError if the id is in use."""
        ...

    def append(
        self,
        run_id: str,
        events: Sequence[AnyEvent],
        *,
        epoch: int | None = None,
        current: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
        head: RunHead | None = None,
    ) -> Awaitable[list[Entry]]:
        """Write events, all or none, and return their entries once they are committed.

        The order of calls is the order in the log. The call itself reserves the place; awaiting it waits for the
        commit. ``epoch`` fences decisions: raises :class:`~leadhand.core.errors.Fenced` if the run has a newer epoch.
        ``current`` fences a ``once`` call on its attempt: :class:`StaleAttempt`. Reservations in ``ModelCallBegan``
        are taken from the run's allowance, and from each they name in ``within``, in the same transaction:
        :class:`BudgetRefused` (see :mod:`leadhand.core.budget`). ``blobs`` (by digest) are stored with them.

        ``head`` is the head of the run after the events, for its line in lists. It counts if ``epoch`` is given, or if
        its ``seq`` is that of the last event: if the process that folded the run has seen everything. Without events,
        only the head is written.
        """
        ...

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """Return the entries with a sequence above ``after``, in order, at most ``limit``."""
        ...

    def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        """Yield entries as they are committed by any process, in order, each once; ends only with an error.

        Entries of this process come at once, those of other processes within 100 ms. Closing it ends it at once.
        """
        ...

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        """Become the owner of a run that no living process owns, and return the new epoch.

        Writes ``RunClaimed``. Raises :class:`~leadhand.core.errors.RunOwned` while its owner is alive (also if that
        is this host), and UsageError for a finished run, unless ``ended`` is set to reopen it.
        """
        ...

    async def release(self, run_id: str, epoch: int) -> None:
        """Stop owning a run (its epoch stays). Does nothing if another host owns it."""
        ...

    async def run(self, run_id: str) -> RunListing: ...

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        """Return the runs that meet every filter, newest first, or the largest of what they are sorted by first.

        ``before`` is the last run id of the previous page. ``ascending`` reverses the order.
        """
        ...

    async def hosts(self) -> list[HostLine]:
        """Return the living processes: this one first, then those that drive runs."""
        ...

    async def about(self) -> StoreInfo:
        """Return a description of the store, for operators."""
        ...

    async def blob(self, digest: str) -> bytes:
        """Return the bytes of a payload or of an artifact. Raises KeyError for an unknown digest."""
        ...

    async def put_blob(self, content: bytes) -> str:
        """Store content and return its digest, ``sha256:…``, once it is durable. Equal content is stored once."""
        ...

    async def keep_blobs(self, digests: Collection[str]) -> set[str]:
        """Keep content for a while, so that an event can name it, and return which of these digests are stored."""
        ...

    async def earlier_files(
        self, flow: str, key_id: str, limit: int, *, offline: bool, documents: str
    ) -> list[FileVersion]:
        """Return the files under ``memory/`` that runs of a flow and an API key wrote: the newest version of each path,
        newest first. What offline runs write is for offline runs only, since it may rest on sample data and on
        documents that no service has seen. What rests on a directory of ``documents`` is for runs that search it, too.
        """
        ...

    async def pass_gate(self, name: str, interval_s: float) -> float:
        """Reserve the next free time slot of a gate that all processes share; return the seconds until then."""
        ...

    async def hold_gate(self, name: str, seconds: float) -> None:
        """Keep a gate closed for every process for at least ``seconds`` from now; holds do not add up."""
        ...

    async def cached(self, key: str) -> Json | None:
        """Return a cached answer that has not expired."""
        ...

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        """Cache an answer for ``ttl_s`` seconds. Raises TypeError for a value that JSON cannot express."""
        ...

    async def aclose(self) -> None:
        """Commit pending writes and release every run; a second call does nothing."""
        ...


class Record(NamedTuple):
    """A small document of a ``kind``, as JSON. No two of a kind have the same ``key``, or the same ``name``."""

    kind: str
    key: str
    body: str
    name: str | None = None

    def read(self, model: type[Document]) -> Document:
        """Return what the record holds. Raises StoreError if it is damaged."""
        try:
            return model.model_validate_json(self.body)
        except ValueError as error:
            what = f"the record of the {self.kind} {self.name or self.key} is damaged"
            raise StoreError(what, "delete it, or restore the database from a backup") from error


@runtime_checkable
class DatabaseStore(ContextStore, Protocol):
    """A context store in a database that many processes can open. Every method may raise StoreError.

    Its ``append`` also takes ``begins``, an attempt that must neither have begun nor ended: StaleAttempt. Its
    ``create`` takes ``jobs``, which are committed with the new run: then no process owns it.
    Deliveries to webhooks are written with their event.
    """

    # Search and upkeep

    async def index_runs(self, run_id: str | None = None, *, most: int | None = None) -> int:
        """Add what is new in the logs of runs at rest to the index: of the newest ``most`` that have something new, or
        of one run with ``run_id``. Return of how many. A run that cannot be added is logged and left out.
        """
        ...

    async def delete_runs(self, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
        """Delete runs, damaged ones too, with everything that only they use; return the ids of those deleted.

        Raises NoSuchRun, and RunOwned for a run that a living process drives. With ``ended_only``, such runs and those
        that have not ended when they are about to be deleted are left out instead.
        """
        ...

    async def damage(self) -> list[str]:
        """Return what is damaged, a sentence each. Reads everything."""
        ...

    async def back_up(self, target: Path) -> None:
        """Copy the store to a file that does not exist, while it is in use. Raises UsageError if there is one."""
        ...

    # Records, such as API keys

    async def records(self, kind: str, key: str | None = None) -> list[Record]:
        """Return the records of a kind; with ``key``, only this one, if there is one."""
        ...

    async def write_record(self, record: Record, *, instead_of: Record | None = None) -> bool:
        """Add a record, or replace ``instead_of``, which has the same key; return whether it was written: not if its
        key or name is in use, and not if the other one has changed since it was read.
        """
        ...

    async def delete_record(self, kind: str, key: str) -> None:
        """Delete a record, and a webhook with its deliveries; does nothing for an unknown key."""
        ...

    async def cache_new(self, key: str, value: Json, ttl_s: float, *, instead_of: Json = None) -> bool:
        """Cache an answer unless there is one that has not expired; return whether it was cached.

        Of several processes at once, one caches its answer. An answer that equals ``instead_of`` is replaced.
        """
        ...

    # Places of limits

    async def share(self, name: str, most: int, *, held: int, wanted: int = 0, priority: int = 0) -> int:
        """Return how many of the ``most`` places of a limit this process has from now on.

        These are the ``held`` ones that it uses, and those of the ``wanted`` ones that are free: unless another process
        is first, whose priority is higher, or the same and it has waited longer. The others of a process are given
        back, and so are those of one that dies. Doing it twice does no more than doing it once.
        """
        ...

    # Messages to webhooks

    async def deliveries(self, webhook_id: str, limit: int) -> list[Delivery]:
        """Return the newest deliveries of a webhook."""
        ...

    async def take_deliveries(self, limit: int) -> list[Delivery]:
        """Return deliveries that are due. No other process gets them for a minute."""
        ...

    async def settle_delivery(self, delivery: Delivery) -> None:
        """Record what an attempt to deliver led to; ignores a delivery that was deleted."""
        ...

    # Other processes

    @property
    def is_shared(self) -> bool:
        """Whether other machines can use the same database."""
        ...

    async def announce(self, line: HostLine, doing: Callable[[], Sequence[str]]) -> None:
        """Show this process among the hosts until the store is closed; ``doing``, called in a thread, returns the
        attempts that it carries out, as ``run/attempt``.
        """
        ...

    async def drain(self) -> None:
        """Show that this process takes no new work."""
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


def in_database(store: ContextStore) -> DatabaseStore:
    """Return a store that is in a database. Raises ConfigurationError for another one."""
    if not isinstance(store, DatabaseStore):
        what = "this store keeps runs only: no API keys or webhooks, and it cannot delete runs or be backed up"
        raise ConfigurationError(what, "Use SQLite or PostgreSQL, or implement leadhand.ports.DatabaseStore.")
    return store
