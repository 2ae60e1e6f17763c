"""What can go wrong, whose fault it is, and what happens next.

Two families, told apart by who must act::

    Failure                     a value: why an attempt, a call or a subtask did not succeed (in the log)
    LeadhandError               an exception: what the person at the door must mend
     ├── UsageError             the command or call itself is wrong                 exit code 2
     ├── ConfigurationError     a model, key, database, home or project is wrong    exit code 6
     │    └── StoreError        the database cannot be opened, read or written
     ├── NoSuchRun              the run id is not in this database                  exit code 2
     ├── RunOwned               another living process drives this run              exit code 2
     └── Fenced                 this process lost the run; its decisions are refused
    ToolError                   raised by a tool: a classed Failure on its way into the log
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field

from .value import Value


class FailureClass(StrEnum):
    """The row of the table of failures (see ``docs/explanation/failures.md``): it alone chooses the next action."""

    TRANSIENT = "transient"
    RATE_LIMITED = "rate_limited"
    INVALID = "invalid"
    UNAVAILABLE = "unavailable"
    REJECTED = "rejected"
    BLOCKED = "blocked"
    TOO_LARGE = "too_large"
    INSUFFICIENT = "insufficient"
    LOST = "lost"
    EXHAUSTED = "exhausted"


NEXT_ACTION: dict[FailureClass, str] = {
    FailureClass.TRANSIENT: "it was tried again with back-off; ask again once the service answers",
    FailureClass.RATE_LIMITED: "wait, or raise the limit at the provider",
    FailureClass.INVALID: "correct the arguments, or the tool's own check",
    FailureClass.UNAVAILABLE: "register the tool, set the key or choose another model; trying again will not help",
    FailureClass.REJECTED: "a person said no; ask for something else",
    FailureClass.BLOCKED: "mend the subtask it needs",
    FailureClass.TOO_LARGE: "ask for less at once, or use a model with a larger window",
    FailureClass.INSUFFICIENT: "ask more precisely, or allow more steps with --max-steps",
    FailureClass.LOST: "resume the run",
    FailureClass.EXHAUSTED: "raise --budget, --timeout or --max-steps, and ask again",
}


class Failure(Value):
    """Why something did not succeed; a value in the log.

    ``type`` is the concrete kind (``timeout``, ``http_500``, ``bad_arguments``, ``offline``, …), ``class`` its row in
    the table of failures, ``next_action`` what a person can do. ``retry_after_s`` is what the other side asked for,
    in seconds.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    message: str
    type: str
    class_: FailureClass = Field(alias="class")
    next_action: str = ""
    retry_after_s: float | None = None

    def model_post_init(self, context: Any, /) -> None:
        if not self.next_action:
            object.__setattr__(self, "next_action", NEXT_ACTION[self.class_])


class LeadhandError(Exception):
    """An error for the person at the door: one line of what is wrong, one line of how to mend it."""

    code = "error"
    exit_code = 1

    def __init__(self, what: str, how: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.how = how

    def __str__(self) -> str:
        return f"{self.what}\n{self.how}" if self.how else self.what


class UsageError(LeadhandError):
    code = "usage"
    exit_code = 2


class NoSuchRun(LeadhandError):
    code = "no_such_run"
    exit_code = 2


class RunOwned(LeadhandError):
    code = "run_owned"
    exit_code = 2


class ConfigurationError(LeadhandError):
    code = "configuration"
    exit_code = 6


class StoreError(ConfigurationError):
    code = "store"


class Fenced(LeadhandError):
    """A decision came from a process that no longer owns the run: refused, nothing was written."""

    code = "fenced"


class ToolError(Exception):
    """Raised by a tool to say exactly how it failed.

    ``ToolError("no such hotel", type="not_found", class_=FailureClass.INVALID)``. A plain exception raised by a tool
    counts as ``transient`` when it is a time-out or a lost connection, else as ``invalid``.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str = "tool_error",
        class_: FailureClass = FailureClass.INVALID,
        next_action: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = Failure.model_validate(
            {
                "message": message,
                "type": type,
                "class": class_,
                "next_action": next_action,
                "retry_after_s": retry_after_s,
            }
        )
