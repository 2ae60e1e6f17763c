"""Control runs: cancel, pause, resume, retry, skip, supply, answer, signal, fork and follow up."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from fastapi import Body as BodyParameter
from fastapi.responses import JSONResponse
from pydantic import Field

from leadhand.app.steering import operator, questions
from leadhand.app.steering.access import Scope, allows
from leadhand.app.steering.follow_ups import load_earlier
from leadhand.core.decide.requests import ACTED, asks_people, repeated
from leadhand.core.errors import UnreadableRun
from leadhand.core.limits import Limits
from leadhand.core.relations import is_gated
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.server.access import Principal, require
from leadhand.server.contract import Route
from leadhand.server.problems import no_such, responses, unconfirmed
from leadhand.server.routes.dependencies import (
    CallersTrace,
    IdempotencyKey,
    RunId,
    Runner,
    RunnerReader,
    TheAccess,
    TheService,
    Words,
)
from leadhand.server.schemas import RunDocument
from leadhand.server.service import Service
from leadhand.server.start_request import Body, FollowUp, check_ceilings, loosens

router = APIRouter(
    route_class=Route,
    prefix="/api/runs/{run_id}",
    tags=["control"],
    responses=responses(401, 403, 404, 409, 413, 422, 429, 503),
)
Key = Annotated[str, Field(description="A subtask's key.", examples=["wo-001.0"], min_length=1, max_length=200)]


class Nothing(Body):
    """An empty body."""


class PauseBody(Body):
    reason: Words = ""


class WithLimits(Body):
    """Limits of a run that continues, for the run as a whole. A missing one stays as it is."""

    limits: Limits = Field(default=Limits(), description="Other limits of the run.")

    def given(self, service: Service, principal: Principal) -> Limits:
        """Return the limits that are given. Raises Problem (403) if one is above what the principal may ask for."""
        check_ceilings(self.limits, service.runtime.settings, principal)
        return self.limits


class ResumeBody(WithLimits):
    """How a run is resumed."""


class RetryBody(WithLimits):
    subtasks: list[Key] = Field([], description="The subtasks to retry; empty for all failed ones.", max_length=10_000)
    args: dict[str, Any] | None = Field(
        None, description="New arguments for the subtask, replacing all of them. Only for one subtask."
    )
    confirmed: bool = Field(False, description="Include subtasks that made, or may have made, an irreversible call.")


class SkipBody(Body):
    subtask: Key
    reason: Words = ""


class SupplyBody(Body):
    subtask: Key
    summary: Words = Field(description="The result in words.", min_length=1)
    raw: Any = Field(None, description="The result as data.")


class ReplyBody(Body):
    text: Words = Field(pattern=r"\S", description="The answer in words, or one of the choices.")
    question_id: str = Field("", max_length=200, description="The question; empty for the oldest that is open.")


class SignalBody(Body):
    value: Any = Field(None, description="What the flow receives, as JSON.")


class ForkBody(WithLimits):
    at: int = Field(ge=1, description="The number of the last event that both runs share.", examples=[12])
    confirmed: bool = Field(False, description="Fork even if the run made irreversible calls after that event.")


@router.post("/cancel", status_code=202, response_model=RunDocument)
async def cancel_run(
    run_id: RunId, service: TheService, principal: Runner, _: Annotated[Nothing | None, BodyParameter()] = None
) -> RunDocument | JSONResponse:
    """Cancel a run for good. Its results so far are kept. For a run that cannot be read, returns its id and status."""
    await service.cancel(run_id, principal)
    try:
        return await service.document(run_id)
    except UnreadableRun:
        return JSONResponse({"run_id": run_id, "status": RunStatus.CANCELLED}, 202)


@router.post("/pause", status_code=202)
async def pause_run(
    run_id: RunId, service: TheService, principal: Runner, body: Annotated[PauseBody | None, BodyParameter()] = None
) -> RunDocument:
    """Pause a run. Finished work is kept; unfinished attempts start again when the run is resumed."""
    await service.pause(run_id, principal, body.reason if body is not None else "")
    return await service.document(run_id)


@router.post("/resume", status_code=202)
async def resume_run(
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: Runner,
    body: Annotated[ResumeBody | None, BodyParameter()] = None,
) -> RunDocument:
    """Resume a run that is paused, waiting for approval, or orphaned; with a higher limit, also one that ran out."""
    given = (body or ResumeBody()).given(service, principal)
    async with service.starting(access.rates, principal, run_id):
        await service.resume(run_id, principal, given)
    return await service.document(run_id)


@router.post("/retry", status_code=202)
async def retry_subtasks(
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: Runner,
    body: Annotated[RetryBody | None, BodyParameter()] = None,
) -> RunDocument:
    """Retry subtasks, and those that depend on them. A finished run is reopened and gets a new answer."""
    asked = body or RetryBody.model_validate({})
    state = await _load(service, run_id, *asked.subtasks)
    _check_policy(service, state, principal)
    if asked.args is not None and is_gated(state):
        require(principal, Scope.APPROVE)  # nobody has approved a call with these arguments
    given = asked.given(service, principal)
    request = operator.retry(by=principal.name, subtasks=asked.subtasks, args=asked.args, confirmed=asked.confirmed)
    if not asked.confirmed:
        _check_taken_back(state, asked)
    async with service.starting(access.rates, principal, run_id):
        await service.want(run_id, request, given)
    return await service.document(run_id)


async def _load(service: Service, run_id: str, *subtasks: str) -> RunState:
    """Return the state of a run that has these subtasks. Raises Problem (404)."""
    state = await service.runtime.load(run_id)
    for key in subtasks:
        if key not in state.steps:
            raise no_such(f"the run has no subtask {key!r}", f"See its steps: GET /api/runs/{run_id}?include=steps")
    return state


def _check_policy(service: Service, state: RunState, principal: Principal) -> None:
    """Raise Problem (403) if the run may make calls that this server's policy would ask this principal about."""
    definition = state.definition
    if loosens({"approve": definition.approve, "approve_rules": definition.approve_rules}, service.runtime.settings):
        require(principal, Scope.APPROVE)


def _check_taken_back(state: RunState, asked: RetryBody) -> None:
    """Raise Problem (409, unconfirmed) if a subtask made, or may have made, an irreversible call."""
    named = asked.subtasks or repeated(state, confirmed=True)
    acted = [key for key in named if state.steps[key].counts and state.steps[key].acted]
    if acted and (asked.subtasks or not repeated(state)):
        raise unconfirmed(
            f"{acted[0]} {ACTED}",
            'Send "confirmed": true to do it anyway.',
            done=[{"subtask": key, "tool": state.steps[key].subtask.tool} for key in acted],
        )


@router.post("/skip", status_code=202)
async def skip_subtask(
    run_id: RunId, service: TheService, access: TheAccess, principal: Runner, body: SkipBody
) -> RunDocument:
    """Skip a subtask that is not running. It becomes a gap of the answer."""
    await _load(service, run_id, body.subtask)
    request = operator.skip(by=principal.name, subtask=body.subtask, reason=body.reason)
    async with service.starting(access.rates, principal, run_id):
        await service.want(run_id, request)
    return await service.document(run_id)


@router.post("/supply", status_code=202)
async def supply_result(
    run_id: RunId, service: TheService, access: TheAccess, principal: Runner, body: SupplyBody
) -> RunDocument:
    """Supply the result of a subtask that failed or has not started. It counts as evidence from a person."""
    if asks_people(await _load(service, run_id, body.subtask), body.subtask):
        require(principal, Scope.APPROVE)
    request = operator.supply(
        by=principal.name,
        subtask=body.subtask,
        summary=body.summary,
        raw=body.raw,
        may_approve=allows(principal.scopes, Scope.APPROVE),
    )
    async with service.starting(access.rates, principal, run_id):
        await service.want(run_id, request)
    return await service.document(run_id)


@router.post("/answer", status_code=202)
async def answer_question(
    run_id: RunId, service: TheService, access: TheAccess, principal: Runner, body: ReplyBody
) -> RunDocument:
    """Answer the oldest open question of a run, or the one with this id. The run continues."""
    async with service.starting(access.rates, principal, run_id):
        await questions.reply(
            service.runtime, run_id, body.text.strip(), by=principal.name, question_id=body.question_id
        )
        await service.resume_answered(run_id)
    return await service.document(run_id)


@router.post("/signals/{name}", status_code=202)
async def send_signal(
    run_id: RunId,
    name: Annotated[str, Path(description="The name for which the flow waits.", min_length=1, max_length=200)],
    service: TheService,
    principal: Runner,
    body: Annotated[SignalBody | None, BodyParameter()] = None,
) -> RunDocument:
    """Send a signal to the flow of a run. It is kept until the flow waits for it."""
    value = None if body is None else body.value
    await questions.signal(service.runtime, run_id, name, value, by=principal.name)
    return await service.document(run_id)


@router.post("/fork", status_code=202)
async def fork_run(
    run_id: RunId, service: TheService, access: TheAccess, principal: Runner, body: ForkBody, response: Response
) -> RunDocument:
    """Start a new run from an event of this one: both share the log up to there. This run does not change."""
    given = body.given(service, principal)
    cut = await operator.cut(service.runtime, run_id, body.at)
    _check_policy(service, cut.state, principal)
    if cut.done and not body.confirmed:
        raise unconfirmed(
            f"the run made irreversible calls after event {body.at}, and the fork may repeat them",
            'Send "confirmed": true to do it anyway.',
            done=[{"seq": each.seq, "tool": each.tool, "args": each.args} for each in cut.done],
        )
    async with service.starting(access.rates, principal):
        state = await service.fork(run_id, body.at, principal, given)
    response.headers["location"] = f"/api/runs/{state.run_id}"
    return await service.document(state.run_id)


@router.post("/follow-up", status_code=202)
async def follow_up_run(
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: RunnerReader,
    body: FollowUp,
    response: Response,
    trace: CallersTrace,
    idempotency_key: IdempotencyKey = None,
) -> RunDocument:
    """Start a run that follows up this one, which must have ended: with its flow, options, models and limits.

    What the body names is changed. Limits stay within those that the caller may ask for. The new run belongs to the
    caller's key.
    """
    earlier = await load_earlier(service.runtime, run_id)
    submission, asked = service.asked_to_follow(body, earlier, principal)
    key = idempotency_key and f"{run_id} {idempotency_key}"
    async with service.starting(access.rates, principal):
        state, again = await service.start(submission, asked, principal, key, follows=earlier, traceparent=trace)
    response.headers["location"] = f"/api/runs/{state.run_id}"
    if again:
        response.headers["idempotency-replayed"] = "true"
    return await service.document(state.run_id)
