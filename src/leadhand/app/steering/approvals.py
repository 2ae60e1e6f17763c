"""Open approvals of runs, and people's answers, each bound to the arguments that were shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from leadhand.app.arguments import json_arguments, json_value, text
from leadhand.app.runtime.listings import all_runs
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.approval import Approval, ApprovalStatus, approval_id, args_hash
from leadhand.core.errors import FailureClass, UnreadableRun, UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.events import ApprovalAnswered
from leadhand.core.ids import step_of
from leadhand.core.relations import open_approvals as open_in
from leadhand.core.run import ENDED
from leadhand.core.state import RunState
from leadhand.core.text import listed
from leadhand.core.value import Json
from leadhand.engine.gate import argument_problems
from leadhand.ports import Caller
from leadhand.ports.runs import RunListing

if TYPE_CHECKING:
    from leadhand.app.export.shapes import ApprovalCard

LOOK_AGAIN = Advice("List the open approvals: {list_approvals}.")
WHOLE = 'Give all arguments as one JSON object, for example {"amount": 20, "to": "Ann"}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApproval:
    """An approval that a run is waiting for.

    ``approval`` is the question, ``request`` the run's request.
    """

    run_id: str
    request: str
    asked_at: datetime
    approval: Approval

    @classmethod
    def of(cls, state: RunState, approval: Approval) -> OpenApproval:
        """Return an open approval of a run."""
        asked_at = approval.asked_at or state.created_at
        return cls(run_id=state.run_id, request=state.definition.request, asked_at=asked_at, approval=approval)

    @property
    def id(self) -> str:
        """The public id. The same call with other arguments has another id."""
        return approval_id(self.run_id, self.approval)

    @property
    def expired(self) -> bool:
        """Whether the time to answer is over. The call is denied when the run continues."""
        return self.approval.expires_at is not None and self.approval.expires_at <= datetime.now(UTC)

    def card(self) -> ApprovalCard:
        """The question as scripts, the console and the HTTP API read it."""
        from leadhand.app.export.shapes import ApprovalCard  # most runs ask nobody

        own = {name: getattr(self, name) for name in ("run_id", "request", "asked_at")}
        approval = self.approval
        calls = {
            "approval_id": self.id,
            "call_id": approval.approval_id,
            "asked_for": step_of(approval.attempt),
            "name": approval.asked_for,
        }
        return ApprovalCard.model_validate({**dict(approval), **own, **calls})

    def is_of(self, run: str) -> bool:
        """Whether it is of the run whose id begins like this, with or without ``run_``."""
        begins = run.lower().removeprefix("run_")
        return begins != "" and self.run_id.removeprefix("run_").startswith(begins)


async def open_approvals(
    runtime: Runtime, run_id: str | None = None, *, key_id: str | None = None
) -> list[OpenApproval]:
    """The open approvals of a run, or of all runs (with ``key_id``: of that API key) that can be read, newest first.

    Expired ones are included.

    Raises NoSuchRun, and UnreadableRun if the run was named.
    """
    found: list[OpenApproval] = []
    if run_id is not None:
        found += await _open_in(runtime, await runtime.store.run(run_id))
    else:
        async for listing in all_runs(runtime.store, asking=True, key_id=key_id):
            try:
                found += await _open_in(runtime, listing)
            except UnreadableRun as error:  # it must not hide the questions of other runs
                runtime.warn_once(error)
    return sorted(found, key=lambda asked: asked.asked_at, reverse=True)


async def _open_in(runtime: Runtime, listing: RunListing) -> list[OpenApproval]:
    if listing.status in ENDED or (state := await runtime.load(listing.run_id)).finished is not None:
        return []
    return [OpenApproval.of(state, each) for each in open_in(state)]


async def find_approval(runtime: Runtime, given: OpenApproval | str, run_id: str | None = None) -> OpenApproval:
    """Return the open approval that ``given`` identifies, of run ``run_id`` if that is not None.

    ``given`` is the approval's id or a unique beginning of it, or that of a run that has one open approval; in a run
    that is given, also the id of its call. Raises UsageError.
    """
    if isinstance(given, OpenApproval):
        if run_id not in (None, given.run_id):
            raise UsageError(f"approval {given.id} belongs to {given.run_id}, not to {run_id}", LOOK_AGAIN)
        return given
    wanted = text(given, "the approval id", LOOK_AGAIN).strip().removesuffix("…")
    if not wanted:
        raise UsageError("the approval id is empty", LOOK_AGAIN)
    asked = [each for each in await open_approvals(runtime, run_id) if not each.expired]
    found = [each for each in asked if each.id == wanted.lower() or (run_id and each.approval.approval_id == wanted)]
    found = found or [each for each in asked if each.id.startswith(wanted.lower())]
    found = found or [each for each in asked if each.is_of(wanted)]
    if not found:
        raise UsageError(f"no open approval has the id {given}", LOOK_AGAIN)
    if len(found) > 1:
        several = listed([each.id for each in found])
        raise UsageError(f"{given} matches several approvals: {several}", "Give more characters of the id.")
    return found[0]


# --- answers ---------------------------------------------------------------------------------------------------------


async def answer(
    runtime: Runtime,
    asked: OpenApproval,
    *,
    by: str,
    approve: bool,
    args: dict[str, Any] | None = None,
    always: bool = False,
    reason: str = "",
) -> Approval:
    """Approve a call or a plan, a call with other arguments if ``args`` is given, or deny it, and return it answered.

    Raises UsageError.
    """
    _check_kind(asked, "call")
    approval = asked.approval
    if approval.kind == "plan" and (always or (args is not None and args != approval.args)):
        how = (
            "Approve the plan as it is, or deny it with what to change as the reason: the lead then makes another one."
        )
        raise UsageError("a plan cannot be changed or approved for all calls", how)
    if args is not None and approval.kind == "call":
        state = await runtime.load(asked.run_id)
        _check_open(state, asked)
        faults = changed_faults(runtime, state, approval, args)
        if faults:
            raise UsageError(f"{approval.tool} does not take these arguments: {'; '.join(faults)}", WHOLE)
    event = ApprovalAnswered(
        approval_id=approval.approval_id,
        args_hash=args_hash(approval.args),
        args=None if args == approval.args else args,
        reason=text(reason, "the reason", "Give the reason as text."),
        by=by,
        approve=approve,
        always=always,
    )
    state = await runtime.requests.record(asked.run_id, event, lambda state: _check_open(state, asked))
    return state.approvals[approval.approval_id]


async def settle_effect(
    runtime: Runtime, asked: OpenApproval, *, by: str, happened: bool, summary: str = "", raw: Json = None
) -> Approval:
    """Say whether an interrupted call happened, and what it returned; return the answered question.

    Raises UsageError.
    """
    _check_kind(asked, "effect")
    if not happened and (summary or raw is not None):
        raise UsageError("a call that did not happen has no result", "Omit the summary and the result.")
    payload, blobs = runtime.log(asked.run_id).pack(json_value(raw, "the result", "Give a JSON value."))
    answer = ApprovalAnswered(
        by=by,
        approval_id=asked.approval.approval_id,
        approve=happened,
        reason=text(summary, "the summary", "Give the result of the call in words."),
        raw=payload,
    )
    state = await runtime.requests.record(asked.run_id, answer, lambda state: _check_open(state, asked), blobs)
    return state.approvals[asked.approval.approval_id]


def changed_faults(runtime: Runtime, state: RunState, approval: Approval, args: object) -> list[str]:
    """Return what is wrong with changed arguments. Raises UsageError if they are not an object."""
    given = json_arguments(args, WHOLE)
    tool, caller = state.tools[approval.tool], partial(Caller.of, state, step_of(approval.attempt))
    if faults := argument_problems(tool, given):
        return faults
    failure = runtime.tool_calls.unfit(tool, given, caller)
    return [failure.message] if failure is not None and failure.class_ is FailureClass.INVALID else []


def _check_kind(asked: OpenApproval, kind: str) -> None:
    given, tool = asked.approval.kind, asked.approval.tool
    if given == kind or (given == "plan" and kind == "call"):
        return
    if given == "effect":
        raise UsageError(
            f"{tool} was interrupted, so the question is whether it happened, not whether it may be called",
            Advice("Settle it: {settle}.", approval=asked.id),
        )
    what = f"{tool} has not been called yet: the question is whether it may be called"
    how = Advice("Answer it: {answer}.", approval=asked.id)
    raise UsageError("the question is whether a plan may be carried out" if given == "plan" else what, how)


def _check_open(state: RunState, asked: OpenApproval) -> None:
    """Raise UsageError unless the approval is open with the arguments shown."""
    now = state.approvals.get(asked.approval.approval_id)
    if state.finished is not None:
        raise UsageError(f"run {state.run_id} is over and has no open approvals", LOOK_AGAIN)
    if now is None or now.attempt != asked.approval.attempt:
        raise UsageError(f"approval {asked.id} is no longer open", LOOK_AGAIN)
    if now.status is ApprovalStatus.EXPIRED or asked.expired:
        raise UsageError(f"approval {asked.id} has expired, so it is denied", LOOK_AGAIN)
    if now.status is not ApprovalStatus.PENDING:
        said = "denied" if now.status is ApprovalStatus.DENIED else "approved"
        raise UsageError(f"approval {asked.id} was already {said} by {now.by or 'someone'}", LOOK_AGAIN)
    if args_hash(now.args) != args_hash(asked.approval.args):
        raise UsageError(f"the arguments of approval {asked.id} have changed", LOOK_AGAIN)
