"""What every event has."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from leadhand.domain.value import Value


class Kind(StrEnum):
    DECISION = "decision"
    OBSERVATION = "observation"
    REQUEST = "request"


class EventBase(Value):
    """What every event has: its ``kind``, the ``version`` of its stored shape, and what it is about.

    Each adds a ``type`` of its own, a literal: the discriminator of the union.
    """

    kind: ClassVar[Kind] = Kind.DECISION
    version: ClassVar[int] = 1

    @property
    def subject(self) -> str:
        """The id this event is about: an attempt, an assignment, an order, or nothing (the run)."""
        return ""
