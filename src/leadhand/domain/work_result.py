"""What an attempt returned: the seed's two shapes, and the evidence that belongs to them."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from .errors import Failure
from .tool import Source
from .value import Json, Value


class ResultData(Value):
    """Result of a successful attempt: ``summary`` (text), ``raw`` (JSON), ``sources``, ``sample`` (made-up data).

    ``raw`` above 4 kB is a reference to a blob: ``{"$blob": digest, "bytes": n}``.
    """

    summary: str
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False


class WorkResult(Value):
    """The result of one attempt: ok with data, or not ok with a classed error.

    ``used`` lists the ids of the tool calls the result rests on: a claim, which the gate holds against the log.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    task_name: str
    ok: bool
    data: ResultData | None = None
    error: Failure | None = None
    used: tuple[str, ...] = ()

    def model_post_init(self, context: Any, /) -> None:
        if self.ok != (self.data is not None) or self.ok == (self.error is not None):
            raise ValueError("a result is ok with data, or not ok with an error")

    @classmethod
    def failed(cls, task_name: str, failure: Failure, used: tuple[str, ...] = ()) -> WorkResult:
        """A result that is not ok."""
        return cls(task_name=task_name, ok=False, error=failure, used=used)


BLOB_ABOVE = 4_096
"""Payloads whose JSON is longer than this, in bytes, are kept once, by digest."""


def blob_reference(value: object) -> str | None:
    """The digest a value refers to, or None when the value is there itself."""
    match value:
        case {"$blob": str() as digest, "bytes": int()}:
            return digest
        case _:
            return None
