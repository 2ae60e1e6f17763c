"""What a flow waits for besides work: people, who approve plans, too, times and signals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from leadhand.core import decide as do
from leadhand.core.approval import Approval, ApprovalStatus, Question
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.ids import attempt_id
from leadhand.core.relations import is_gated
from leadhand.core.state import RunState
from leadhand.core.tool import Effect
from leadhand.core.value import Json, is_object

from .passes import Pass
from .pending import Pending
from .results import Approved, Denied, Result, encoded, is_same, sha

_T = TypeVar("_T")


class Waits:
    """The part of a run as its flow sees it that waits."""

    def __init__(self, of: Pass) -> None:
        self.of = of
        """The pass that this context belongs to."""
        self._numbers = of.numbered

    @property
    def state(self) -> RunState:
        """The full state of the run, for built-in flows; its shape can change between releases."""
        return self.of.state

    def person(
        self,
        question: str,
        choices: Sequence[str] | None = None,
        timeout: float | None = None,
        default: str | None = None,
        *,
        key: str = "",
    ) -> Pending[str]:
        """Ask who started the run; await it for the answer, or after ``timeout`` seconds for the ``default``.

        With ``choices``, the answer is one of them. ``key`` is another id for the question.
        """
        given = tuple(choices or ())
        id_ = key or f"q-{sha([question, [*given]])[:8]}"
        asked = Question(id=id_, text=question, choices=given, default=default or "")
        return self._waits(asked, timeout, lambda reply: reply)

    def sleep(self, until: float | timedelta | datetime) -> Pending[None]:
        """Wait for seconds, or until a time; the run may be taken over by another process in between.

        Time in which a run only waits does not count towards its time limit.
        """
        until = until.total_seconds() if isinstance(until, timedelta) else until
        id_ = f"t-{sha(str(until))[:8]}"
        if isinstance(until, datetime):
            at = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
            return self._waits(Question(id=id_, kind="timer", text="", expires_at=at), None, lambda _: None)
        return self._waits(Question(id=id_, kind="timer", text=""), until, lambda _: None)

    def wait_for(self, signal: str, timeout: float | None = None) -> Pending[Json]:
        """Wait for a signal of this name, and return its value; None if none comes within ``timeout`` seconds.

        Each signal is received once, by the first that waits for its name; it may be sent before that.
        """
        asked = Question(id=f"s-{sha(signal)[:8]}", kind="signal", text=signal)
        return self._waits(asked, timeout, lambda reply: json.loads(reply) if reply else None)

    def _waits(self, asked: Question, timeout_s: float | None, value: Callable[[str], _T]) -> Pending[_T]:
        asked = asked.evolve(id=self._numbered(asked.id))

        def read(now: RunState) -> _T:
            return value(now.questions[asked.id].reply or "")

        return self.of.add(Pending(f"?{asked.id}", do.Ask(asked, timeout_s), read))

    async def approve(
        self, plan: Result | Mapping[str, Any], *, key: str = "", of: Result | None = None
    ) -> Approved | Denied:
        """Ask a person whether a plan may be carried out, if the run was started with ``--approve-plan``.

        ``key`` is another id for the question, ``of`` the result of the step that made the plan.
        """
        if not is_gated(self.state):
            return Approved()
        step = plan if isinstance(plan, Result) else of
        args, _ = encoded({"plan": (plan.value or plan.text) if isinstance(plan, Result) else plan})
        args = args["plan"] if is_object(args["plan"]) else args
        known = self.state.approvals
        free = (each for n in count(1) if (each := page_id(1, n)) not in self._numbers)
        key = key or next(each for each in free if each not in known or is_same(known[each].args, args))
        self._numbers[key] += 1
        attempt = "" if step is None else attempt_id(step.key, max(step.attempt, 1))
        asked = Approval(
            approval_id=key,
            kind="plan",
            attempt=attempt,
            tool="",
            args=args,
            effect=Effect.PURE,
            asked_for="" if step is None else step.state.step.name,
        )

        run = self.state.definition
        ask = do.Ask(asked, run.limits.approval_timeout if run.approve_plan else None)

        def read(now: RunState) -> Approved | Denied:
            answered = now.approvals[key]
            if answered.status is ApprovalStatus.APPROVED:
                return Approved(answered.by)
            late = "nobody approved the plan in time" if answered.status is ApprovalStatus.EXPIRED else ""
            return Denied(answered.reason or late, answered.by, late=bool(late))

        return await self.of.add(Pending(f"?{key}", ask, read))

    def _numbered(self, key: str) -> str:
        """Return a key of a question or a note, with a number if this pass has used it before."""
        self._numbers[key] += 1
        return key if self._numbers[key] == 1 else f"{key}-{self._numbers[key]}"


# --- plans that a person may have to approve -------------------------------------------------------------------------


MOST_PLANS = 3
"""How many plans of one run a person is shown at most: each after the first because the one before was denied."""
PLAN_DENIED = "plan_denied"
"""The type of the failure of a run whose plan nobody approved."""
DENIED = """\
A person has denied the plans in `denied`, each for its `reason`. Make another plan, which respects every reason."""
"""Further instructions for a planner whose plan was denied."""


def page_id(number: int, plan: int = 1) -> str:
    """Return the id of the step that writes the ``number``-th page of the ``plan``-th plan, counted from 1."""
    first = "plan" if plan == 1 else f"plan-v{plan}"
    return first if number == 1 else f"{first}-{number}"


def denial(reason: str, by: str, number: int, *, late: bool) -> Failure | None:
    """Return why a run ends after the ``number``-th plan that a person denied; None if another plan is made."""
    if late:
        return _failure("nobody approved the plan in time", "run it again, and approve its plan")
    what, reason = f"{by or 'a person'} denied the plan", reason.strip()
    if not reason:
        return _failure(what, "ask for something else, or deny the plan with a reason to get another one")
    if number < MOST_PLANS:
        return None
    return _failure(f"{what}: {reason} ({number} plans were denied)", "say in the request how to do it")


def _failure(message: str, how: str) -> Failure:
    return Failure.of(message, PLAN_DENIED, FailureClass.REJECTED, how)
