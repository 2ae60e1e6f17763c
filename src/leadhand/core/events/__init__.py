"""The events that can happen in a run: the entries of its log, in log format 1.

*Decisions* come from the run's owner alone, fenced by its epoch. *Observations* are appended by a host for an attempt,
in any order, and are never refused. *Requests* come from people, through any process.
"""

# ruff: noqa: F403, F405 - this module exports every event

import operator
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from leadhand.core.approval import Approval, Question
from leadhand.core.errors import Failure
from leadhand.core.limits import NOTHING, Limits, Money
from leadhand.core.run import CitedSource, Gap, RunDefinition, RunStatus
from leadhand.core.value import Json, unset
from leadhand.core.work_result import Judgement

from .work import *

# --- the run ---------------------------------------------------------------------------------------------------------


class RunStarted(EventBase):
    """The run was created, with its definition."""

    definition: RunDefinition


class RunClaimed(EventBase):
    """A process took over the run; the entry has the new epoch."""

    owner: str


class RunStatusSet(EventBase):
    """The run is ``paused`` or ``waiting`` (nothing new starts), or ``running`` (again).

    ``by`` reopened a run that had ended. The process that drives it was not running for ``slept_s`` seconds, which are
    not time of the run.
    """

    status: Literal[RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING]
    reason: str = ""
    by: str = ""
    slept_s: float = Field(default=0.0, ge=0, exclude_if=operator.not_)


class RunFinished(EventBase):
    """The run ended with an ``answer``; ``value`` is its typed answer. A reopened run ends again, as ``number`` 2, …

    ``judgement`` None: nobody judged the answer. ``left_out`` are the steps that the flow no longer asked for.
    """

    number: int = 1
    status: RunStatus
    answer: str
    value: Json = Field(default=None, exclude_if=unset)
    sources: tuple[CitedSource, ...] = ()
    gaps: tuple[Gap, ...] = ()
    failure: Failure | None = None
    judgement: Judgement | None = Field(default=None, exclude_if=unset)
    sample: bool = Field(default=False, exclude_if=operator.not_)
    left_out: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)


class RunRequested(Request):
    """A person asks to cancel, pause or resume the run."""

    what: Literal["cancel", "pause", "resume"]
    reason: str = ""


class RunChanged(Request):
    """A person gives the run other limits.

    ``turns``: the maximum model calls of one attempt, by worker; ``needs_prices``: refuse models of unknown price.
    """

    limits: Limits
    held_back: Money = Field(default=NOTHING, exclude_if=partial(operator.eq, NOTHING))
    held_back_s: float = Field(default=0.0, exclude_if=operator.not_)
    turns: dict[str, int] = Field(default={}, exclude_if=operator.not_)
    needs_prices: bool = Field(default=False, exclude_if=operator.not_)


# --- people ----------------------------------------------------------------------------------------------------------


class ApprovalRequested(EventBase):
    """A person is asked to approve one call or a plan, or to say whether a call happened."""

    about: ClassVar[str] = "approval.attempt"
    approval: Approval


class ApprovalAnswered(Request):
    """A person's answer to an approval; ``expired``: nobody answered in time, so it is denied.

    ``args_hash`` is the hash of the arguments shown; ``args`` replaces them. ``always`` approves every call of this
    tool in this run. If the question is whether a call happened, ``approve`` says that it did: it counts as made, with
    ``reason`` and ``raw`` as its result; otherwise it can be made again.
    """

    about: ClassVar[str] = "approval_id"
    approval_id: str
    approve: bool
    args_hash: str = ""
    args: dict[str, Any] | None = Field(default=None, exclude_if=absent)
    reason: str = ""
    always: bool = Field(default=False, exclude_if=operator.not_)
    raw: Json = Field(default=None, exclude_if=unset)
    expired: bool = Field(default=False, exclude_if=operator.not_)


class QuestionAsked(EventBase):
    """A person is asked what the run cannot find out. It waits for the answer if it has nothing else to do."""

    question: Question


class QuestionAnswered(Request):
    """A person's answer to a question of the run; ``expired``: its time is up, and the text is the default."""

    question_id: str
    text: str
    expired: bool = Field(default=False, exclude_if=operator.not_)


class SignalSent(Request):
    """A signal, for the flow that waits for one of this ``name``; it is kept until one does."""

    name: str
    value: Json = None


AnyEvent = (
    RunStarted | RunClaimed | RunStatusSet | RunFinished | RunRequested | RunChanged | OrderIssued
    | ResultsJudged | StepIssued | StepSettled | StepRequested | RequestDecided | AttemptScheduled | AttemptStarted
    | AttemptReturned | AttemptParked | ModelCallBegan | ModelCallReturned | ElementWritten | ConversationCompacted
    | ToolCallBegan | ToolCallReturned | CallAnswered | WorkerDefined | ArtifactWritten | TodosSet | NoteEmitted
    | ApprovalRequested | ApprovalAnswered | QuestionAsked | QuestionAnswered | SignalSent
)  # fmt: skip
EVENT_TYPES: dict[str, type[AnyEvent]] = {cls.model_fields["type"].default: cls for cls in AnyEvent.__args__}


class Entry(NamedTuple):
    """An event in the log, with its sequence number, its time (UTC), and the epoch under which it was written."""

    seq: int
    at: datetime
    epoch: int
    event: AnyEvent
