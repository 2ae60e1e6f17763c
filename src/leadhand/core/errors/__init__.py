"""Errors: what went wrong, who has to act, and what happens next.

Two families::

    Failure                     a value: why an attempt, a call or a subtask did not succeed (in the log)
    LeadhandError               an exception: what the caller must fix
     ├── UsageError             the command or call itself is wrong                 exit code 2
     ├── ConfigurationError     a model, key, database, home or project is wrong    exit code 6
     │    └── StoreError        the database cannot be opened, read or written
     │         └── UnreadableRun the log of one run cannot be read; other runs can
     ├── NoSuchRun              the run id is not in this database                  exit code 2
     ├── RunOwned               another living process drives this run              exit code 2
     ├── Fenced                 this process lost the run; its decisions are refused
     ├── StaleAttempt           the attempt is over; its ``once`` call must not begin
     └── BudgetRefused          a reservation does not fit a ceiling                exit code 5
    ToolError                   raised by a tool: a classed Failure on its way into the log
    FlowError                   raised by a flow, or a function of the user's that it calls, which cannot do its part
    Refused                     the state of a run does not allow a command; nothing happens
"""

import operator
from enum import StrEnum
from typing import Any

from pydantic import Field

from leadhand.core.errors.advice import Advice
from leadhand.core.money import Money
from leadhand.core.value import Value, unset


class FailureClass(StrEnum):
    """The class of a failure (see ``docs/explanation/failures.md``), which alone decides what happens next.

    ``action`` is what a person can do about a failure that says nothing else.
    """

    TRANSIENT = "transient", "try again when the service is available"
    RATE_LIMITED = "rate_limited", "wait, or raise the limit at the provider"
    INVALID = "invalid", "correct the arguments, or the check in the tool"
    UNAVAILABLE = "unavailable", "fix the reported problem; a retry alone does not help"
    REJECTED = "rejected", "approve the call, or ask for something else"
    BLOCKED = "blocked", "fix the subtask it needs"
    TOO_LARGE = "too_large", "ask for less at once, or use a model with a larger window"
    INSUFFICIENT = "insufficient", "ask more precisely, or allow more work orders (max_steps)"
    LOST = "lost", "resume the run"
    EXHAUSTED = "exhausted", "raise the limit that is used up, and resume the run"

    action: str

    def __new__(cls, value: str, action: str) -> "FailureClass":
        made = str.__new__(cls, value)
        made._value_, made.action = value, action
        return made


CODE_FAILED = frozenset({"exception", "wrong_result"})
"""Types of failures of the project's own code: once it is fixed, the step can be done again."""
RAN_OUT = frozenset({"time", "allowance"})
"""Types of failures of what a larger limit of the run would have allowed."""
DENIED = "denied"
"""The type of the failure of a call that a person or a rule denied."""
HOOK_BLOCKED, HOOK_FAILED = "hook_blocked", "hook_failed"
"""The types of failures of what a hook blocked, and of what did not pass because a hook failed."""
INTERRUPTED = "interrupted"
"""The type of the failure that pausing a run causes. It does not count against the attempt."""
CHILD_FAILED = "child_failed"
"""The type of failure of a call whose task another worker could not carry out, or that asked for too much."""
EXPIRED = "nobody answered in time"
MAX_TURNS = "max_turns"
"""The type of the failure of a worker that has made all the model calls that it may make."""
AWAY = "model_away"
"""The type of the failure of a call whose model server did not come back in time. It is not retried by itself."""
_AWAY_TYPES = frozenset({"connection", "http_502", "http_503", "http_529", "overloaded"})
LONGEST_MESSAGE = 10_000
"""Characters of a failure's message."""


class Failure(Value):
    """Why something did not succeed; a value in the log.

    ``type`` is the specific kind (``timeout``, ``http_500``, ``offline``, …), ``retry_after_s`` the wait in seconds
    that the service asked for, ``short_of`` what the next model call may need of limits that are used up. ``not_made``:
    the failure of a call that was certainly not made, so that there is nothing to find out or to undo.
    """

    message: str
    type: str
    class_: FailureClass = Field(validation_alias="class", serialization_alias="class")
    next_action: str = ""
    retry_after_s: float | None = None
    short_of: Money | None = Field(default=None, exclude_if=unset)
    not_made: bool = Field(default=False, exclude_if=operator.not_)

    @classmethod
    def of(
        cls,
        message: str,
        type: str,
        class_: FailureClass,
        next_action: str = "",
        retry_after_s: float | None = None,
        *,
        not_made: bool = False,
    ) -> "Failure":
        """Return a failure; without ``next_action`` it has the usual one of its class.

        A long message, such as one that quotes what a model wrote, is cut.
        """
        message = message.encode(errors="backslashreplace").decode()  # it may quote what user code said
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[: LONGEST_MESSAGE - 1]}…"
        given: dict[str, Any] = {"next_action": next_action, "retry_after_s": retry_after_s, "not_made": not_made}
        return cls(message=message, type=type, class_=class_, **given)

    def __str__(self) -> str:
        return f"{self.message} ({self.class_.value})"

    @property
    def is_away(self) -> bool:
        """Whether a model call failed because its server is down, starting or overloaded."""
        return self.class_ is FailureClass.TRANSIENT and self.type in _AWAY_TYPES

    def model_post_init(self, context: Any, /) -> None:
        if not self.next_action:
            object.__setattr__(self, "next_action", self.class_.action)


class LeadhandError(Exception):
    """An error for the caller: one line for what is wrong, one for how to fix it."""

    code = "error"
    exit_code = 1

    def __init__(self, what: str, how: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.how = how

    def __str__(self) -> str:
        return f"{self.what}\n{self.how}" if self.how else self.what


class UsageError(LeadhandError):
    """``field`` names the wrong value, such as ``options.max_revisions``, if there is a name for it.

    ``how`` may end with a command that continues a run: from its definition, ``continued``, come the flags it needs.
    """

    code = "usage"
    exit_code = 2

    def __init__(self, what: str, how: str = "", *, field: str = "", continued: Any = None) -> None:
        super().__init__(what, how)
        self.field, self.continued = field, continued


class NoSuchRun(LeadhandError):
    code = "no_such_run"
    exit_code = 2


def no_such_run(run_id: str) -> NoSuchRun:
    """Return the error of an unknown run id."""
    return NoSuchRun(
        f"there is no run {run_id} in this database", Advice("`{list_runs}` shows the runs of this database")
    )


class RunOwned(LeadhandError):
    code = "run_owned"
    exit_code = 2


class ConfigurationError(LeadhandError):
    code = "configuration"
    exit_code = 6


class StoreError(ConfigurationError):
    code = "store"


RESTORE = (
    "restore the database from a backup, or save what can be read with {export_run}, and then delete the run with"
    " {delete_run}; other runs are not affected"
)
"""How a damaged run is restored: the text of an :class:`~leadhand.core.errors.advice.Advice`."""


class UnreadableRun(StoreError):
    """The log of a run cannot be read from event ``seq`` on. Earlier events, and other runs, can be read."""

    code = "unreadable_run"

    def __init__(self, run_id: str, seq: int, what: str, how: str = "") -> None:
        super().__init__(what, how or Advice(RESTORE, run=run_id))
        self.run_id = run_id
        self.seq = seq


class Fenced(LeadhandError):
    """This process no longer owns the run, so its decision was refused; nothing was written."""

    code = "fenced"


class StaleAttempt(LeadhandError):
    """The attempt is no longer current (settled or lost), so its ``once`` call must not begin; nothing was written."""

    code = "stale_attempt"


class BudgetRefused(LeadhandError):
    """A reservation exceeds an allowance, so nothing was written.

    ``scope`` is what it exceeds, "" for the run; a ``shared`` one is a budget of many runs. It ``may_fit`` once open
    calls have released what they reserved. ``short_of`` is what the call needs of the run's limits that it exceeds.
    """

    code = "exhausted"
    exit_code = 5

    scope = ""
    shared = may_fit = False
    short_of: Money | None = None


class ToolError(Exception):
    """Raise this in a tool to state exactly how it failed.

    ``ToolError("no such hotel", type="not_found", class_=FailureClass.INVALID)``. Of plain exceptions, timeouts and
    lost connections are ``transient``, other errors of the system ``unavailable``, all others ``invalid``. Say
    ``not_made=True`` if the call has certainly had no effect, such as a request that was never sent.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str = "tool_error",
        class_: FailureClass | str = FailureClass.INVALID,
        next_action: str = "",
        retry_after_s: float | None = None,
        not_made: bool = False,
    ) -> None:
        super().__init__(message)
        if class_ not in list(FailureClass):
            raise UsageError(f"{class_!r} is not a class of failures", f"Choose from: {', '.join(FailureClass)}.")
        self.failure = Failure.of(message, type, FailureClass(class_), next_action, retry_after_s, not_made=not_made)


class FlowError(Exception):
    """A flow, or a function of the user's that it calls, cannot do its part; ``failure`` says why and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Refused(ValueError):
    """The state does not allow this command; nothing happens."""
