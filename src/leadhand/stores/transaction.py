"""One transaction of the log: operations of many callers, judged in order and written together.

Rows are read and locked once at the start, in the same order everywhere, so that two processes never deadlock. Each
operation is then judged in memory; a refused operation leaves no trace and does not affect the others. The rest is
written with a handful of statements, however many operations there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from leadhand.core.budget import METERED, Account, Reservation
from leadhand.core.errors import BudgetRefused, Fenced, RunOwned, StaleAttempt, UsageError, no_such_run
from leadhand.core.errors.advice import Advice
from leadhand.core.events import AnyEvent, Entry, ModelCallBegan, RunClaimed, RunStarted
from leadhand.core.limits import NOTHING, Ceiling, Money
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.secret import Secret
from leadhand.ports.heads import RunHead
from leadhand.ports.webhooks import messages

from .changes import CHANGES
from .codec import Encoded, encode, microseconds
from .connection import Connection, Dialect, Hold, Row, Table
from .postgres.job_queue import Job, defer
from .records import DELIVERIES, deliveries_of
from .run_row import FIXED, RUNS, RunRow
from .upkeep import BLOBS

EVENTS = Table("events", "run_id, seq, at, epoch, type, version, subject, body")
SUBJECTS = Table("events", "run_id, subject")
RESERVATIONS = Table("reservations", "run_id, attempt, call_id, requests, tokens, nanousd, scopes, shared")
SHARED = Table(
    "shared_accounts",
    "scope, spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
)
ALLOWANCES = Table(
    "allowances",
    "run_id, scope, ceiling_requests, ceiling_tokens, ceiling_nanousd,"
    " spent_requests, spent_tokens, spent_nanousd, reserved_requests, reserved_tokens, reserved_nanousd",
    key=2,
)

NAMED = Table("named", "digest, run_id")
SECRETS = Table("secrets", "run_id, secret_id, origin, tool, value")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
AGAIN = " ON CONFLICT (digest) DO UPDATE SET used_at = {now}"
"""Keeps content that is there from being deleted at the same moment, before the event that names it is committed."""

ENDING = frozenset({"attempt_returned", "step_settled"})
"""The types of events that end an attempt."""


class Create(NamedTuple):
    """Create a run, owned by this host unless ``jobs`` make others drive it; the result is its first entry."""

    run_id: str
    started: Encoded
    jobs: Sequence[Job] = ()
    secrets: Sequence[Secret] = ()


class Append(NamedTuple):
    """Write events, all or none; the result is their entries.

    ``current`` is an attempt that must not have ended, ``begins`` one that must not have begun either. ``head`` is the
    head of the run after them.
    """

    run_id: str
    events: Sequence[Encoded]
    epoch: int | None = None
    current: str | None = None
    begins: str | None = None
    blobs: Mapping[str, bytes] = {}
    head: RunHead | None = None
    secrets: Sequence[Secret] = ()

    @property
    def metered(self) -> list[AnyEvent]:
        """The events that change the budget."""
        return [each.event for each in self.events if isinstance(each.event, METERED)]


class Claim(NamedTuple):
    """Become the owner of a run, of a finished run only with ``ended``; the result is the new epoch."""

    run_id: str
    ended: bool = False


class Release(NamedTuple):
    """Stop owning a run, unless another host owns it."""

    run_id: str
    epoch: int


Operation = Create | Append | Claim | Release


class LogTransaction:
    """Judges and writes a batch on ``connection``; the writer begins the transaction, and commits or undoes it.

    ``committed`` holds the new entries of each run, for the followers once the commit has succeeded.
    """

    def __init__(
        self, connection: Connection, dialect: Dialect, hold: Hold, now: datetime, operations: Sequence[Operation]
    ) -> None:
        self.committed: dict[str, list[Entry]] = {}
        self._connection = connection
        self._hold = hold
        self._now = now
        self._at = microseconds(now)
        self._rows: dict[str, RunRow] = {}
        self._changed: dict[str, RunRow] = {}
        self._shared: dict[str, Account] = {}
        self._loaded_shared: dict[str, Account] = {}
        self._reserved: list[Row] = []
        self._over: set[Row] = set()
        self._begun: set[Row] = set()
        self._jobs: list[Job] = []
        self._events: list[Row] = []
        self._blobs: dict[str, bytes] = {}
        self._secrets: set[Row] = set()
        self._dialect = dialect
        self._load(operations)

    def apply(self, operation: Operation) -> object:
        """Judge one operation and return its result.

        Raises NoSuchRun, UsageError, Fenced, StaleAttempt, BudgetRefused or RunOwned; then it has no effect.
        """
        match operation:
            case Append():
                return self._append(operation)
            case Create():
                return self._create(operation)
            case Claim():
                return self._claim(operation)
            case Release():
                return self._release(operation)

    def write(self) -> None:
        """Write what was accepted; the writer commits it."""
        connection, changed = self._connection, self._changed
        reserved: list[Row] = []
        allowances: list[Row] = []
        for run_id, row in changed.items():
            for key, (amount, *names) in row.budget.open.items():
                scopes = (json.dumps(each) if each else "" for each in names)
                reserved.append((run_id, *key, *amount.row, *scopes))
            for scope, account in row.budget.scopes.items():
                allowances.append((run_id, scope, *chain.from_iterable(each.row for each in account)))
        shared = sorted(self._shared.items() - self._loaded_shared.items())
        new = (
            (tuple(changed[run_id].values()), each) for run_id, entries in self.committed.items() for each in entries
        )
        deliveries = deliveries_of(connection, (each for each in new if messages(each[1].event)))
        EVENTS.insert(connection, self._events)
        written = [(run_id, entries[0].seq, entries[-1].seq) for run_id, entries in self.committed.items()]
        CHANGES.insert(connection, written)
        RUNS.put(connection, [row.row for row in changed.values()], FIXED)
        RESERVATIONS.delete(
            connection, "run_id, attempt, call_id", [key for key in self._reserved if key[0] in changed]
        )
        RESERVATIONS.insert(connection, reserved)
        ALLOWANCES.put(connection, allowances)
        SHARED.put(connection, [(scope, *each.spent.row, *each.reserved.row) for scope, each in shared])
        # Always in the same order, so that two transactions that write the same blobs never deadlock.
        blobs = [(digest, 0, body) for digest, body in sorted(self._blobs.items())]
        BLOBS.insert(connection, blobs, AGAIN.format(now=self._dialect.now))
        named = {(digest, event[0]) for event in self._events for digest in DIGEST.findall(event[-1])}
        NAMED.insert(connection, sorted(named), " ON CONFLICT DO NOTHING")
        SECRETS.insert(connection, sorted(self._secrets), " ON CONFLICT DO NOTHING")
        DELIVERIES.insert(connection, deliveries)
        if self._jobs:
            defer(connection, self._jobs)

    def is_committed(self, connection: Connection) -> bool:
        """Whether this transaction is in the database, asked when the answer to its commit was lost."""
        if not self._events:
            return False
        first = self._events[0]
        return first in EVENTS.find(connection, "run_id, seq", [first[:2]])

    def _append(self, append: Append) -> list[Entry]:
        row = self._row(append.run_id)
        if append.epoch is not None and append.epoch != row["epoch"]:
            raise Fenced(
                f"run {append.run_id} is at epoch {row['epoch']}, so a decision of epoch {append.epoch} is refused",
                "another process is driving the run; watch it instead",
            )
        if append.current is not None and (append.run_id, append.current) in self._over:
            raise StaleAttempt(
                f"attempt {append.current} of run {append.run_id} has ended, so it must not start another call"
            )
        if append.begins is not None:
            self._begin(append.run_id, append.begins, row)
        if metered := append.metered:
            try:
                row.budget.apply(metered)
            except BudgetRefused as refused:
                refused.may_fit &= not refused.shared or self._is_reserved(refused.scope)
                raise
        self._blobs.update(append.blobs)
        self._secrets.update((append.run_id, *each) for each in append.secrets)
        entries = self._enter(append.run_id, row, append.events)
        if append.head is not None:
            row.list_as(append.head, decided=append.epoch is not None)
        return entries

    def _begin(self, run_id: str, attempt: str, row: RunRow) -> None:
        """Raise StaleAttempt unless an attempt of a running run may begin: once, and before it has ended."""
        begins = run_id, attempt
        if row["status"] != RunStatus.RUNNING or begins in self._over or begins in self._begun:
            raise StaleAttempt(f"attempt {attempt} of run {run_id} must not begin: another has it, or it is over")
        self._begun.add(begins)

    def _is_reserved(self, scope: str) -> bool:
        """Whether runs that living processes drive have reserved a part of a budget that runs share; what others have
        reserved is released only when they go on."""
        query = (
            "SELECT DISTINCT runs.owner FROM reservations JOIN runs ON runs.run_id = reservations.run_id"
            " WHERE reservations.shared LIKE ? AND runs.owner IS NOT NULL"
        )
        owners = {owner for (owner,) in self._connection.execute(query, (f"%{json.dumps(scope)}%",))}
        return bool(owners and self._hold.living(owners, self._connection))

    def _create(self, create: Create) -> Entry:
        if create.run_id in self._rows:
            raise UsageError(f"run {create.run_id} already exists", "start the run under a new id")
        started = create.started.event
        assert isinstance(started, RunStarted)
        owner = None if create.jobs else self._hold.host
        row = RunRow.of(create.run_id, started, owner, self._at, self._shared)
        self._jobs += create.jobs
        self._secrets.update((create.run_id, *each) for each in create.secrets)
        self._rows[create.run_id] = row
        (entry,) = self._enter(create.run_id, row, [create.started])
        return entry

    def _claim(self, claim: Claim) -> int:
        row = self._row(claim.run_id)
        status, owner = row["status"], row["owner"]
        if status in ENDED and not claim.ended:
            raise UsageError(
                f"run {claim.run_id} is finished ({status})",
                Advice("show it with `{show_run}`, or retry what failed: `{retry}`", run=claim.run_id),
            )
        if owner == self._hold.host:
            raise RunOwned(f"run {claim.run_id} is already driven by this process ({owner})", "wait for its end")
        if owner is not None and self._hold.living({owner}, self._connection):
            raise RunOwned(
                f"run {claim.run_id} is driven by another living process ({owner})",
                Advice("watch it with `{watch_run}`, or end that process first", run=claim.run_id),
            )
        row.update(epoch=row["epoch"] + 1, owner=self._hold.host)
        self._enter(claim.run_id, row, [encode(RunClaimed(owner=self._hold.host))])
        return row["epoch"]

    def _release(self, release: Release) -> None:
        row = self._row(release.run_id)
        if (row["owner"], row["epoch"]) == (self._hold.host, release.epoch):
            row["owner"] = None
            self._changed[release.run_id] = row

    def _enter(self, run_id: str, row: RunRow, events: Sequence[Encoded]) -> list[Entry]:
        """Number accepted events and add them to the log."""
        entries: list[Entry] = []
        seq, epoch = row["head_seq"], row["epoch"]
        for event, columns in events:
            seq += 1
            entries.append(Entry(seq, self._now, epoch, event))
            self._events.append((run_id, seq, self._at, epoch, *columns))
            row.enter(event, self._at)
            if columns[0] in ENDING:
                self._over.add((run_id, columns[2]))
        row["head_seq"] = seq
        self._changed[run_id] = row
        if entries:
            self.committed.setdefault(run_id, []).extend(entries)
        return entries

    def _row(self, run_id: str) -> RunRow:
        row = self._rows.get(run_id)
        if row is None:
            raise no_such_run(run_id)
        return row

    def _load(self, operations: Sequence[Operation]) -> None:
        """Load the rows of runs, and the parts of their budgets and ended attempts that matter."""
        connection, rows = self._connection, self._rows
        run_ids = sorted({(operation.run_id,) for operation in operations})
        for row in RUNS.find(connection, "run_id", run_ids, f" ORDER BY run_id{self._dialect.for_update}"):
            rows[row[0]] = RunRow(row, self._shared)
        appends = [each for each in operations if isinstance(each, Append) and each.run_id in rows]

        metered = [(append.run_id, event) for append in appends for event in append.metered]
        begins = [(run_id, event) for run_id, event in metered if isinstance(event, ModelCallBegan)]
        scopes = {(run_id, ceiling.scope) for run_id, event in begins for ceiling in event.within}
        shared = {ceiling.scope for _, event in begins for ceiling in event.shared}
        attempts = list({(run_id, event.subject) for run_id, event in metered if event.subject})
        for run_id, attempt, call_id, *amount, within, of_many in RESERVATIONS.find(
            connection, "run_id, attempt", attempts
        ):
            names = [tuple[str, ...](json.loads(each)) if each else () for each in (within, of_many)]
            scopes.update((run_id, scope) for scope in names[0])
            shared.update(names[1])
            rows[run_id].budget.open[attempt, call_id] = Reservation(Money(*amount), *names)
            self._reserved.append((run_id, attempt, call_id))
        self._load_shared(sorted((scope,) for scope in shared))
        for run_id, scope, *amounts in ALLOWANCES.find(connection, "run_id, scope", sorted(scopes)):
            account = Account(Ceiling(*amounts[:3]), Money(*amounts[3:6]), Money(*amounts[6:]))
            rows[run_id].budget.scopes[scope] = account

        begun = [(append.run_id, append.begins) for append in appends if append.begins is not None]
        fenced = begun + [(append.run_id, append.current) for append in appends if append.current is not None]
        ended = " AND type IN ('attempt_returned', 'step_settled')"  # exactly the condition of the index
        self._over.update(SUBJECTS.find(connection, "run_id, subject", fenced, ended))
        self._begun.update(SUBJECTS.find(connection, "run_id, subject", begun, " AND type = 'attempt_started'"))

    def _load_shared(self, scopes: Sequence[Row]) -> None:
        """Lock and load the accounts that runs share: after the runs and in one order, as everywhere."""
        if not self._dialect.alone:  # only a row that is there can be locked
            nothing = (*NOTHING.row, *NOTHING.row)
            rows = [(*scope, *nothing) for scope in scopes]
            SHARED.insert(self._connection, rows, " ON CONFLICT (scope) DO NOTHING")
        for scope, *amounts in SHARED.find(
            self._connection, "scope", scopes, f" ORDER BY scope{self._dialect.for_update}"
        ):
            self._shared[scope] = Account(spent=Money(*amounts[:3]), reserved=Money(*amounts[3:]))
        self._loaded_shared.update(self._shared)
