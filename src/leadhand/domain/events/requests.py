"""Requests: what people want of a run, through any process."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from .base import Happened, Kind


class Request(Happened):
    """Something a person wants of a run; ``by`` says who."""

    kind: ClassVar[Kind] = Kind.REQUEST
    by: str = ""


class CancelRequested(Request):
    """Somebody wants the run ended."""

    type: Literal["cancel_requested"] = "cancel_requested"


class PauseRequested(Request):
    """Somebody wants the run parked."""

    type: Literal["pause_requested"] = "pause_requested"
    reason: str = ""


class ResumeRequested(Request):
    """Somebody wants a parked run to go on."""

    type: Literal["resume_requested"] = "resume_requested"


class ApprovalAnswered(Request):
    """A person's word on a call. ``args_hash`` must be that of the arguments shown; ``args`` replaces them."""

    type: Literal["approval_answered"] = "approval_answered"
    approval_id: str
    approve: bool
    args_hash: str
    args: dict[str, Any] | None = None
    reason: str = ""


class ChildAnswered(Request):
    """An open call of a parked attempt got its answer from elsewhere (a child assignment, a person)."""

    type: Literal["child_answered"] = "child_answered"
    call_id: str
    ok: bool
    content: str
