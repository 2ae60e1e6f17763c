"""Requests: what people want of a run, through any process."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from leadhand.domain.value import Json

from .base import EventBase, Kind


class Request(EventBase):
    """Something a person wants of a run; ``by`` says who."""

    kind: ClassVar[Kind] = Kind.REQUEST
    by: str = ""


class CancelRequested(Request):
    """Somebody wants the run ended."""

    type: Literal["cancel_requested"] = "cancel_requested"


class PauseRequested(Request):
    """A person asks to pause the run."""

    type: Literal["pause_requested"] = "pause_requested"
    reason: str = ""


class ResumeRequested(Request):
    """A person asks to resume a paused run."""

    type: Literal["resume_requested"] = "resume_requested"


class ApprovalAnswered(Request):
    """A person's answer about a call. ``args_hash`` must be that of the arguments shown; ``args`` replaces them.

    ``always`` approves every call of this tool in this run.
    """

    type: Literal["approval_answered"] = "approval_answered"
    approval_id: str
    approve: bool
    args_hash: str
    args: dict[str, Any] | None = None
    reason: str = ""
    always: bool = False


class EffectAnswered(Request):
    """A person's answer about a call whose end was not recorded.

    ``happened``: it counts as made, with ``summary`` and ``raw`` as its result. Otherwise it may be made again.
    """

    type: Literal["effect_answered"] = "effect_answered"
    approval_id: str
    happened: bool
    summary: str = ""
    raw: Json = None


class RetryRequested(Request):
    """Somebody wants subtasks done again (none named: every one that failed), one of them perhaps with other ``args``.

    After the end, too: the run reopens. ``confirmed``: also what did, or may have done, what cannot be taken back.
    """

    type: Literal["retry_requested"] = "retry_requested"
    subtasks: tuple[str, ...] = ()
    confirmed: bool = False
    args: dict[str, Any] | None = None


class SkipRequested(Request):
    """Somebody wants a subtask left undone."""

    type: Literal["skip_requested"] = "skip_requested"
    subtask: str
    reason: str = ""


class ResultSupplied(Request):
    """Somebody gives the result of a subtask: evidence of a person, not of a call."""

    type: Literal["result_supplied"] = "result_supplied"
    subtask: str
    summary: str
    raw: Json = None
