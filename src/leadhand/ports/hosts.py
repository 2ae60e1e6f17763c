"""Hosts: the processes that drive runs and carry out attempts."""

from collections.abc import Set
from datetime import datetime
from enum import StrEnum

from leadhand.core.value import Value


class HostKind(StrEnum):
    """``run``: carries out only the runs that it drives; ``server`` and ``host`` (`leadhand work`) take any work."""

    RUN = "run"
    SERVER = "server"
    HOST = "host"


HEARTBEAT_LIMIT_S = 10.0
"""Seconds without a heartbeat after which a process counts as dead, unless it was set up with another limit."""
TAKES_WORK = frozenset({HostKind.SERVER, HostKind.HOST})


class HostLine(Value):
    """A running process that has the store open: its id, whether it is this process (``here``), the runs it drives.

    On PostgreSQL also its ``kind``, ``since`` when it runs, how many attempts it carries out at most (``concurrency``),
    how many it carries out now (``running``), which ones (``attempts``, as ``run/attempt``, at most 100), whether it is
    ``draining``: takes no new work, and the ``flows`` and ``tools`` that it has.
    """

    host: str
    here: bool = False
    runs: tuple[str, ...] = ()
    kind: HostKind | None = None
    since: datetime | None = None
    concurrency: int = 0
    running: int = 0
    attempts: tuple[str, ...] = ()
    draining: bool = False
    flows: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def takes_work(self) -> bool:
        """Whether it takes work for the runs of other processes."""
        return self.kind in TAKES_WORK and not self.draining

    def has(self, flow: str, tools: Set[str]) -> bool:
        """Whether it has a flow, and these tools."""
        return flow in self.flows and tools <= {*self.tools}


class QueueInfo(Value):
    """The queue of many machines: how many jobs wait (``depth``), and for how many seconds the oldest has.

    ``steps`` counts the attempts of those jobs; ``runs`` wait for a process that drives them, the next one first.
    """

    depth: int = 0
    oldest_s: float = 0.0
    steps: int = 0
    runs: tuple[str, ...] = ()
