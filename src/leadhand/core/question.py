"""A question of a run to a person, and its answer."""

import operator

from pydantic import Field

from .value import Value


class Question(Value):
    """A question to the person who started a run. ``reply`` is the answer of ``by`` (None: it is open).

    A person may answer with one of the ``choices``, or in other words.
    """

    id: str
    text: str
    choices: tuple[str, ...] = ()
    reply: str | None = None
    by: str = Field(default="", exclude_if=operator.not_)
