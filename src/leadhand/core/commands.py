"""The commands: what the flow of a run, its owner and people want to happen next."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from .approval import Approval, Question
from .errors import Failure
from .outcome import FlowAnswer
from .run import RunStatus
from .work_order import Step, WorkOrder
from .work_result import ResultData, Review
from .worker import Worker


class IssueOrder(NamedTuple):
    """Issue an order, which is immutable from then on. ``workers`` carry it out, and are defined if the run does not
    know them."""

    order: WorkOrder
    workers: Sequence[Worker] = ()


class IssueStep(NamedTuple):
    """Give work to a worker: the step starts when everything that it ``needs`` is completed.

    ``definition`` is that of the worker, if the run does not know it. A step that carries out a subtask begins before
    the first order, which adopts it under its key.
    """

    step: Step
    definition: Worker | None = None


class Conclude(NamedTuple):
    """End a step for the reason in ``failure``; that of a flow inside of another one with what that flow came to."""

    step: str
    failure: Failure | None = None
    data: ResultData | None = None


class Note(NamedTuple):
    """Write a line into the log, once for each ``key``."""

    message: str
    key: str


class Start(NamedTuple):
    """Schedule the next attempt at a step: its first one, a retry, or the continuation of a parked one."""

    step: str


class Settle(NamedTuple):
    """Judge what the current attempt at a step returned: accept it, retry, or give up."""

    step: str


class Lose(NamedTuple):
    """End an attempt that did not return because its process died or its deadline passed."""

    attempt: str
    failure: Failure


class Answer(NamedTuple):
    """Answer an open call of a parked attempt: decide what it asks for, or give it the results of its children."""

    call_id: str


class Judge(NamedTuple):
    """Record a review: verdicts on the results of one work order or of any steps."""

    review: Review
    work_order_id: str = ""


class Ask(NamedTuple):
    """Ask a person about a call or a plan, or ask a question, which expires after ``timeout_s`` seconds."""

    asked: Approval | Question
    timeout_s: float | None = None


class Expire(NamedTuple):
    """Deny a call because nobody answered in time, or answer a question with its default."""

    approval_id: str


class DecideRequest(NamedTuple):
    """Decide the oldest pending request of a person. ``workers`` are those of steps that the flow defines otherwise
    today, by step: a retry is carried out by them."""

    workers: Mapping[str, Worker] = MappingProxyType({})


class SetStatus(NamedTuple):
    """Pause the run, let it wait for people, or continue it. ``slept_s``: the process was not running for so long."""

    status: Literal[RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING] = RunStatus.RUNNING
    reason: str = ""
    slept_s: float = 0.0


class End(NamedTuple):
    """End the run with the ``answer`` that its flow states, or for the reason in ``answer.failure``; the evidence
    decides whether it succeeded."""

    answer: FlowAnswer = FlowAnswer()


Command = (
    IssueOrder
    | IssueStep
    | Conclude
    | Note
    | Start
    | Settle
    | Lose
    | Answer
    | Judge
    | Ask
    | Expire
    | DecideRequest
    | SetStatus
    | End
)


class Refused(ValueError):
    """The state does not allow this command; nothing happens."""


class FlowError(Exception):
    """A flow, or a function of the user's that it calls, cannot do its part; ``failure`` says why and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
