"""What keeps the logs of runs: the engine needs no more of a database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack, runtime_checkable

from leadhand.core.artifact import FileVersion
from leadhand.core.events import AnyEvent, Entry, RunStarted
from leadhand.core.secret import Secret
from leadhand.core.value import Json

if TYPE_CHECKING:
    from leadhand.ports.heads import RunHead
    from leadhand.ports.hosts import HostLine
    from leadhand.ports.runs import RunFilter, RunListing


class ContextStore(Protocol):
    """Stores events: one append-only sequence for each run, from which everything else is computed.

    Every method may raise StoreError, and NoSuchRun if it names a run (:mod:`leadhand.core.errors`).
    """

    @property
    def host(self) -> str:
        """The id of this process at the store: the owner of the runs that it drives."""
        ...

    @property
    def secret_key(self) -> bytes:
        """What makes ids of secrets of their values: random, of this store alone, and in no copy for people."""
        ...

    async def create(self, run_id: str, started: RunStarted, *, secrets: Sequence[Secret] = ()) -> Entry:
        """Create a run, owned by this host under epoch 1, with the ``secrets`` to which its first event refers.

        Raises UsageError if the id is in use.
        """
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
        secrets: Sequence[Secret] = (),
    ) -> Awaitable[list[Entry]]:
        """Write events, all or none, and return their entries once they are committed.

        The order of calls is the order in the log. The call itself reserves the place; awaiting it waits for the
        commit. ``epoch`` fences decisions: raises :class:`~leadhand.core.errors.Fenced` if the run has a newer epoch.
        ``current`` fences a ``once`` call on its attempt: :class:`StaleAttempt`. Reservations in ``ModelCallBegan``
        are taken from the run's allowance, and from each they name in ``within``, in the same transaction:
        :class:`BudgetRefused` (see :mod:`leadhand.core.budget`). ``blobs`` (by digest) and the ``secrets`` to which the
        events refer are stored with them.

        ``head`` is the head of the run after the events, for its line in lists. It counts if ``epoch`` is given, or if
        its ``seq`` is that of the last event: if the process that folded the run has seen everything. Without events,
        only the head is written.
        """
        ...

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """Return the entries with a sequence above ``after``, in order, at most ``limit``."""
        ...

    async def secrets(self, run_id: str) -> list[Secret]:
        """Return the secrets of a run; none of a run that was deleted. Only what makes a call may ask for them."""
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


@runtime_checkable
class PlaceStore(Protocol):
    """A store in which processes share the places of limits."""

    async def share(self, name: str, most: int, *, held: int, wanted: int = 0) -> int:
        """Return how many of the ``most`` places of a limit this process has from now on.

        These are the ``held`` ones that it uses, and those of the ``wanted`` ones that are free: unless another process
        has waited longer. The others of a process are given back, and so are those of one that dies. Doing it twice
        does no more than doing it once.
        """
        ...
