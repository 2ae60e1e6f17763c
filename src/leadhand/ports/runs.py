"""Lists of runs: the line of a run, and which runs a list has in which order."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypedDict

from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import Moment, Value

DRIVEN = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
"""A run with one of these statuses should have an owner; without an owner it is an orphan."""


REQUEST_SHOWN = 200
"""Characters of a request that lists show."""


class RunListing(Value):
    """One line of a list of runs.

    ``owner`` is the host that drives it (None: no host); ``orphan`` is true if the run should continue but has none.
    ``subtasks``, ``completed``, ``failed`` and ``asking`` are those of its :class:`~leadhand.ports.heads.RunHead`.
    ``requests``, ``tokens`` and ``nanousd`` are what was spent, without open reservations; ``unpriced``: a price is
    unknown.
    ``key_id`` is the API key that the run belongs to ("" for none), ``follows`` the run that it follows up ("" for
    none). ``name`` and ``tags`` are those that a person gave it last.
    """

    run_id: str
    flow: str
    request: str
    status: RunStatus
    model: str
    created_at: Moment
    finished_at: Moment | None = None
    head_seq: int
    epoch: int
    owner: str | None = None
    orphan: bool = False
    detached: bool = False
    subtasks: int = 0
    completed: int = 0
    failed: int = 0
    asking: int = 0
    requests: int = 0
    tokens: int = 0
    nanousd: int = 0
    unpriced: bool = False
    key_id: str = ""
    follows: str = ""
    name: str = ""
    tags: dict[str, str] = {}


class RunSort(StrEnum):
    """What a list of runs is sorted by; ``duration`` is that until now for a run that has not finished."""

    CREATED = "created"
    COST = "cost"
    DURATION = "duration"
    STATUS = "status"
    FLOW = "flow"


RunSortName = Literal["created", "cost", "duration", "status", "flow"]
"""What a list of runs can be sorted by, by name."""


class RunFilter(TypedDict, total=False):
    """The filters of a list of runs, and its order. A run must meet each filter that is given and not None.

    Its ``status`` and ``flow``, ``text`` in its name or request (ignoring case), created at ``since`` or later and
    before ``until`` (times with a zone), ``asking`` (it waits for a person), ``detached`` or not, of the API key
    ``key_id``, that is a follow-up of the run ``follows``, with all of these ``tags``. It cost and took at least and at
    most so much, in US dollars and seconds; a run that has not finished took the time until now.

    ``search`` finds the runs that have each of its words, or a word that begins with it, in their request, plan, tool
    arguments, errors, gaps or answer. What is written without spaces, such as ``wo-001.0``, is one phrase; accents and
    punctuation do not count. While a run is running, only its name and request are searched.

    The largest of what the runs are sorted by come first (``created``, if it is not given), or last if ``ascending``.
    """

    status: RunStatus | str | None
    flow: str | None
    text: str
    search: str
    since: datetime | None
    until: datetime | None
    min_cost_usd: float | None
    max_cost_usd: float | None
    min_duration_s: float | None
    max_duration_s: float | None
    asking: bool
    detached: bool | None
    key_id: str | None
    follows: str | None
    tags: Mapping[str, str]
    sort: RunSort | RunSortName
    ascending: bool


STATUS_ORDER = {status: place for place, status in enumerate(RunStatus)}
"""The places of statuses in a list that is sorted by status."""


def duration_s(run: RunListing | RunState, now: datetime) -> float:
    """Return the seconds from the start of a run to its end, or to now; the time that it rested is included."""
    return ((run.finished_at or now) - run.created_at).total_seconds()
