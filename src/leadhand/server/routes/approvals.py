"""List and answer the open approvals of all runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field, model_validator

from leadhand.app.export.shapes import ApprovalCard
from leadhand.app.steering import approvals
from leadhand.app.steering.access import Scope
from leadhand.app.steering.approvals import OpenApproval
from leadhand.core.errors import UsageError
from leadhand.server.access import Principal
from leadhand.server.contract import Route
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Approver, Reader, TheAccess, TheService, Words
from leadhand.server.schemas import ApprovalsList
from leadhand.server.service import Service
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api/approvals", tags=["approvals"])
Id = Annotated[str, Path(description="The approval's id.", examples=["1a2b3c4d"], max_length=200)]


class AnswerBody(Body):
    """``approve`` or ``deny`` a call, or ``settle`` whether an interrupted call happened."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"decision": {"const": "settle"}}, "required": ["decision"]},
            "then": {"properties": {"happened": {"type": "boolean"}}, "required": ["happened"]},
        }
    )

    decision: Literal["approve", "deny", "settle"] = Field(examples=["approve"])
    args: dict[str, Any] | None = Field(None, description="Approve: the changed arguments of the call, all of them.")
    reason: Words = ""
    always: bool = Field(False, description="Approve: also approve every later call of this tool in this run.")
    happened: bool | None = Field(None, description="Settle: whether the call was made.")
    summary: Words = Field("", description="Settle: the result in words.")
    raw: Any = Field(None, description="Settle: the result as data.")

    @model_validator(mode="after")
    def _says_what_happened(self) -> Self:
        if self.decision == "settle" and self.happened is None:
            raise ValueError('to settle a call, send "happened": true or false')
        return self


@router.get("", responses=responses(401, 403, 404, 422, 429, 503))
async def list_approvals(
    service: TheService,
    access: TheAccess,
    principal: Reader,
    run_id: Annotated[str | None, Query(max_length=100, description="Only approvals of this run.")] = None,
) -> ApprovalsList:
    """The open approvals of all runs that the caller may read, newest first."""
    if run_id is not None:
        await access.check_run(principal, run_id, Scope.READ)
    return ApprovalsList(approvals=tuple(each.card() for each in await _shown(service, principal, run_id)))


@router.post("/{approval_id}", responses=responses(401, 403, 404, 409, 413, 422, 429, 503))
async def answer_approval(approval_id: Id, body: AnswerBody, service: TheService, principal: Approver) -> ApprovalCard:
    """Answer an approval. The answer is valid once, for the arguments shown. The run continues."""
    runtime, by = service.runtime, principal.name
    asked = await _open(service, principal, approval_id)
    match body.decision:
        case "approve":
            answered = await approvals.answer(
                runtime, asked, by=by, approve=True, args=body.args, always=body.always, reason=body.reason
            )
        case "deny":
            answered = await approvals.answer(runtime, asked, by=by, approve=False, reason=body.reason)
        case "settle":
            answered = await approvals.settle_effect(
                runtime, asked, by=by, happened=bool(body.happened), summary=body.summary, raw=body.raw
            )
    await service.resume_answered(asked.run_id)
    changed = {name: getattr(answered, name) for name in ("status", "by", "reason", "args", "origins", "edited")}
    return asked.card().evolve(**changed)


async def _shown(service: Service, principal: Principal, run_id: str | None = None) -> list[OpenApproval]:
    """The open approvals of runs that the principal may read, newest first."""
    asked = await approvals.open_approvals(service.runtime, run_id, key_id=principal.reads_of)
    return [each for each in asked if not each.expired]


async def _open(service: Service, principal: Principal, approval_id: str) -> OpenApproval:
    """Return the open approval with exactly this id, not only its beginning. Raises UsageError."""
    for asked in await _shown(service, principal):
        if asked.id == approval_id:
            return asked
    raise UsageError(f"no open approval has the id {approval_id}", "GET /api/approvals lists the open approvals.")
