"""The base of all events."""

import operator
from enum import StrEnum
from functools import cached_property, partial
from typing import ClassVar

from leadhand.core.value import Value

absent = partial(operator.is_, None)


class Kind(StrEnum):
    DECISION = "decision"
    OBSERVATION = "observation"
    REQUEST = "request"


_TYPE = {"type"}


class EventBase(Value):
    """The base of all events: ``kind``, the ``version`` of the stored shape, and the id of the subject.

    Each event adds its own ``type``, a literal: the discriminator of the union.
    """

    kind: ClassVar[Kind] = Kind.DECISION
    version: ClassVar[int] = 1
    about: ClassVar[str] = ""
    """The path of the field with the id of the event's subject; empty for the run as a whole."""

    @property
    def subject(self) -> str:
        """The id of the event's subject: an attempt, a step or an order; "" for the run."""
        return operator.attrgetter(self.about)(self) if self.about else ""

    @cached_property
    def body(self) -> str:
        """The event as JSON, without its type: what is redacted, then stored."""
        return self.model_dump_json(exclude=_TYPE, by_alias=True)


class Observation(EventBase):
    """Something that a host observed on behalf of an attempt."""

    kind: ClassVar[Kind] = Kind.OBSERVATION
    attempt: str

    @property
    def subject(self) -> str:
        return self.attempt


class Request(EventBase):
    """A request of a person about a run; ``by`` names the person."""

    kind: ClassVar[Kind] = Kind.REQUEST
    by: str = ""
