"""Which runs a list has, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypedDict, Unpack

from .listing import DRIVEN, RunListing, RunRecord
from .run import RunStatus, RunStatusName
from .search import is_found, query_words, searched_words, words_in
from .state import RunState


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
    arguments, errors, gaps or answer. What is written without spaces, such as ``wo-001.0``, is one word; accents do not
    count. While a run is running, only its name and request are searched.

    The largest of what the runs are sorted by come first (``created``, if it is not given), or last if ``ascending``.
    """

    status: RunStatus | RunStatusName | None
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


def sort_key(filters: RunFilter, now: datetime) -> Callable[[RunListing], Any]:
    """Return the function by which runs are sorted."""
    match RunSort(filters.get("sort", RunSort.CREATED)):
        case RunSort.CREATED:
            return lambda run: run.created_at
        case RunSort.COST:
            return lambda run: run.nanousd
        case RunSort.DURATION:
            return lambda run: duration_s(run, now)
        case RunSort.STATUS:
            return lambda run: STATUS_ORDER[run.status]
        case RunSort.FLOW:
            return lambda run: run.flow


def listed(
    records: Iterable[RunRecord], now: datetime, before: RunListing | None = None, **filters: Unpack[RunFilter]
) -> list[RunListing]:
    """Return the runs of a list in its order: of all records, the oldest first, those that meet every filter.

    Those up to and including ``before`` are left out, for the next page.
    """
    records = list(records)
    runs = sorted((record.listing for record in records), key=sort_key(filters, now))
    if not filters.get("ascending"):
        runs.reverse()
    if before is not None:
        runs = runs[[run.run_id for run in runs].index(before.run_id) + 1 :]
    found = None
    if (search := filters.get("search", "")).strip():
        wanted = query_words(search)
        found = {record.listing.run_id for record in records if wanted and is_found(wanted, _words(record))}
    return matching(runs, now, found, **filters)


def _words(record: RunRecord) -> set[str]:
    line = record.listing
    words = set(words_in(f"{line.name} {line.request}"))
    return words if line.status in DRIVEN else words | searched_words(entry.event for entry in record.entries)


def matching(
    runs: Iterable[RunListing], now: datetime, found: Collection[str] | None = None, **filters: Unpack[RunFilter]
) -> list[RunListing]:
    """Return the runs that meet every filter; ``found`` are those that ``search`` finds, by id (None: no search)."""
    status, since, until = filters.get("status"), filters.get("since"), filters.get("until")
    text, asking, detached = filters.get("text", "").lower(), filters.get("asking"), filters.get("detached")
    return [
        run
        for run in runs
        if status in (None, run.status)
        and filters.get("flow") in (None, run.flow)
        and text in f"{run.name}\n{run.request}".lower()
        and (found is None or run.run_id in found)
        and (since is None or run.created_at >= since)
        and (until is None or run.created_at < until)
        and _within(run.nanousd / 1e9, filters.get("min_cost_usd"), filters.get("max_cost_usd"))
        and _within(duration_s(run, now), filters.get("min_duration_s"), filters.get("max_duration_s"))
        and (run.asking or not asking)
        and detached in (None, run.detached)
        and filters.get("key_id") in (None, run.key_id)
        and filters.get("follows") in (None, run.follows)
        and filters.get("tags", {}).items() <= run.tags.items()
    ]


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)
