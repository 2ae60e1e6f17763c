"""Questions to people, over all runs, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from leadhand.app import approvals
from leadhand.app.approvals import OpenApproval
from leadhand.domain.document import ApprovalCard
from leadhand.domain.errors import UsageError
from leadhand.server.problems import conflicts, no_such, responses
from leadhand.server.routes.dependencies import Approver, Reader, TheService, Words
from leadhand.server.schemas import ApprovalsList
from leadhand.server.service import Service
from leadhand.server.start_request import Body

router = APIRouter(prefix="/api/approvals", tags=["approvals"])
Id = Annotated[str, Path(description="The question's id.", examples=["1a2b3c4d"], max_length=200)]

ANSWERED = {"approve": "approved", "deny": "denied", "settle": "settled"}


class AnswerBody(Body):
    """``approve`` and ``deny`` say whether a call may be made; ``settle``, whether one that had begun happened."""

    decision: Literal["approve", "deny", "settle"] = Field(examples=["approve"])
    args: dict[str, Any] | None = Field(None, description="Approve with these arguments instead, all of them.")
    reason: Words = ""
    always: bool = Field(False, description="Approve every call of this tool in this run.")
    happened: bool | None = Field(None, description="Settle: whether the call was made.")
    summary: Words = Field("", description="Settle: what it came to.")
    raw: Any = Field(None, description="Settle: the same as data.")


@router.get("", responses={**responses(401, 403, 404, 422, 429, 503)})
async def list_approvals(
    service: TheService,
    _: Reader,
    run_id: Annotated[str | None, Query(max_length=100, description="Only those of this run.")] = None,
) -> ApprovalsList:
    """The open questions, newest first."""
    asked = await approvals.open_approvals(service.runtime, run_id)
    return ApprovalsList(approvals=tuple(each.card() for each in asked if not each.expired))


@router.get("/{approval_id}", responses={**responses(401, 403, 404, 422, 429, 503)})
async def get_approval(approval_id: Id, service: TheService, _: Reader) -> ApprovalCard:
    """One open question."""
    try:
        asked = await _open(service, approval_id)
    except UsageError as error:
        raise no_such(error.what, error.how) from error
    return asked.card()


@router.post("/{approval_id}", responses={**responses(401, 403, 404, 409, 413, 422, 429, 503)})
async def answer_approval(approval_id: Id, body: AnswerBody, service: TheService, principal: Approver) -> ApprovalCard:
    """Answer a question: bound to the arguments it shows, once. The run goes on."""
    runtime, by = service.runtime, principal.name
    with conflicts():
        asked = await _open(service, approval_id)
        match body.decision:
            case "approve":
                await approvals.approve(runtime, asked, by=by, args=body.args, always=body.always, reason=body.reason)
            case "deny":
                await approvals.deny(runtime, asked, by=by, reason=body.reason)
            case "settle":
                if body.happened is None:
                    raise UsageError("whether the call happened is not said", 'Send "happened": true or false.')
                await approvals.settle_effect(
                    runtime, asked, by=by, happened=body.happened, summary=body.summary, raw=body.raw
                )
    await service.went_on(asked.run_id)
    return asked.card().evolve(status=ANSWERED[body.decision], by=by)


async def _open(service: Service, approval_id: str) -> OpenApproval:
    """The open question of this very id, which stands for its arguments, too. Raises UsageError.

    The beginning of an id will do on the command line; a program that has been shown a question has its whole id.
    """
    asked = await approvals.find_approval(service.runtime, approval_id)
    if asked.id != approval_id:
        raise UsageError(f"no open question has the id {approval_id}", "GET /api/approvals shows what is open.")
    return asked
