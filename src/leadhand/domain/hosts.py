"""Hosts: the processes that drive runs and carry out attempts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from .value import Value


class HostKind(StrEnum):
    """``run``: carries out only the runs that it drives; ``server`` and ``host`` (`leadhand work`) take any work."""

    RUN = "run"
    SERVER = "server"
    HOST = "host"


HEARTBEAT_LIMIT_S = 10.0
"""Seconds without a heartbeat after which a process counts as dead, unless it was set up with another limit."""
TAKES_WORK = frozenset({HostKind.SERVER, HostKind.HOST})


class Announcement(Value):
    """What a process says of itself when it joins a cluster: see :class:`HostLine`."""

    kind: HostKind
    concurrency: int
    flows: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class HostLine(Value):
    """A running process that has the store open: its id, whether it is this process (``here``), the runs it drives.

    On PostgreSQL also its ``kind``, ``since`` when it runs, how many attempts it carries out at most (``concurrency``),
    which ones (``attempts``, as ``run/attempt``, at most 100), whether it is ``draining``: takes no new work, and the
    ``flows`` and ``tools`` that it has.
    """

    host: str
    here: bool
    runs: tuple[str, ...] = ()
    kind: HostKind | None = None
    since: datetime | None = None
    concurrency: int = 0
    attempts: tuple[str, ...] = ()
    draining: bool = False
    flows: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class QueueInfo(Value):
    """The queue of many machines: how many jobs wait (``depth``), and for how many seconds the oldest has.

    ``assignments`` counts the attempts of those jobs; ``runs`` wait for a process that drives them, the next one first.
    """

    depth: int = 0
    oldest_s: float = 0.0
    assignments: int = 0
    runs: tuple[str, ...] = ()
