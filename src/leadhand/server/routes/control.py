"""Steering runs: every verb of the command line and of Python, with who asked for it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi import Body as BodyParameter
from pydantic import Field

from leadhand.app import operator
from leadhand.domain.document import RunDocument
from leadhand.domain.wishes import ACTED, retriable
from leadhand.server.problems import conflicts, responses, unconfirmed
from leadhand.server.routes.dependencies import RunId, Runner, TheAccess, TheService, Words
from leadhand.server.start_request import Body

router = APIRouter(
    prefix="/api/runs/{run_id}", tags=["control"], responses={**responses(401, 403, 404, 409, 413, 422, 429, 503)}
)
Key = Annotated[str, Field(description="A subtask's key.", examples=["wo-001.0"], max_length=200)]


class Nothing(Body):
    """Nothing needs to be said."""


class PauseBody(Body):
    reason: Words = ""


class RetryBody(Body):
    subtasks: list[Key] = Field([], description="Which; none named: every one that failed.", max_length=10_000)
    args: dict[str, Any] | None = Field(None, description="Other arguments for the one subtask named, all of them.")
    confirmed: bool = Field(False, description="Also what did, or may have done, what cannot be taken back.")


class SkipBody(Body):
    subtask: Key
    reason: Words = ""


class SupplyBody(Body):
    subtask: Key
    summary: Words = Field(description="What it came to, in words.")
    raw: Any = Field(None, description="The same as data.")


class ForkBody(Body):
    at: int = Field(description="The last event that both runs have, by its number.", examples=[12])
    confirmed: bool = Field(False, description="Although the run then did what cannot be taken back.")


@router.post("/cancel", status_code=202)
async def cancel_run(
    run_id: RunId, service: TheService, principal: Runner, _: Annotated[Nothing | None, BodyParameter()] = None
) -> RunDocument:
    """End a run for good. What it found stays on record."""
    with conflicts():
        await service.cancel(run_id, principal)
    return await service.document(run_id)


@router.post("/pause", status_code=202)
async def pause_run(
    run_id: RunId, service: TheService, principal: Runner, body: Annotated[PauseBody | None, BodyParameter()] = None
) -> RunDocument:
    """Park a run. What is finished is kept; what was under way is done again when it is resumed."""
    with conflicts():
        await service.pause(run_id, principal, body.reason if body is not None else "")
    return await service.document(run_id)


@router.post("/resume", status_code=202)
async def resume_run(
    run_id: RunId, service: TheService, principal: Runner, _: Annotated[Nothing | None, BodyParameter()] = None
) -> RunDocument:
    """Go on with a run that is paused, waits for people, or was left behind by its process."""
    with conflicts():
        await service.resume(run_id, principal)
    return await service.document(run_id)


@router.post("/retry", status_code=202)
async def retry_subtasks(
    run_id: RunId, service: TheService, principal: Runner, body: Annotated[RetryBody | None, BodyParameter()] = None
) -> RunDocument:
    """Have subtasks done again, and what waited for them. A run that was over goes on, and comes to another answer."""
    asked = body or RetryBody.model_validate({})
    with conflicts():
        wish = operator.retry(by=principal.name, subtasks=asked.subtasks, args=asked.args, confirmed=asked.confirmed)
        if not asked.confirmed:
            await _check_taken_back(service, run_id, asked)
        await service.want(run_id, wish)
    return await service.document(run_id)


async def _check_taken_back(service: TheService, run_id: str, asked: RetryBody) -> None:
    """Raise Problem (409, unconfirmed) when some of it did, or may have done, what cannot be taken back."""
    state = await service.runtime.load(run_id)
    named = asked.subtasks or retriable(state, confirmed=True)
    acted = [key for key in named if key in state.subtasks and state.subtasks[key].acted]
    if acted and (asked.subtasks or not retriable(state)):
        raise unconfirmed(
            f"{acted[0]} {ACTED}",
            'Send "confirmed": true if that is well.',
            done=[{"subtask": key, "tool": state.subtasks[key].subtask.tool} for key in acted],
        )


@router.post("/skip", status_code=202)
async def skip_subtask(run_id: RunId, service: TheService, principal: Runner, body: SkipBody) -> RunDocument:
    """Leave a subtask undone that is not under way. It is a gap of the answer."""
    with conflicts():
        await service.want(run_id, operator.skip(by=principal.name, subtask=body.subtask, reason=body.reason))
    return await service.document(run_id)


@router.post("/supply", status_code=202)
async def supply_result(run_id: RunId, service: TheService, principal: Runner, body: SupplyBody) -> RunDocument:
    """Give the result of a subtask that failed or has not begun: evidence of a person."""
    with conflicts():
        wish = operator.supply(by=principal.name, subtask=body.subtask, summary=body.summary, raw=body.raw)
        await service.want(run_id, wish)
    return await service.document(run_id)


@router.post("/fork", status_code=202)
async def fork_run(
    run_id: RunId, service: TheService, access: TheAccess, principal: Runner, body: ForkBody, response: Response
) -> RunDocument:
    """Make another run that begins as this one did, up to an event, and goes on from there. This one is left alone."""
    async with access.rates.new_run(principal.key_id, service.active(principal)):
        with conflicts():
            cut = await operator.cut(service.runtime, run_id, body.at)
            if cut.done and not body.confirmed:
                raise unconfirmed(
                    f"after event {body.at} the run did what cannot be taken back, and the fork may do it again",
                    'Send "confirmed": true if that is well.',
                    done=[{"seq": each.seq, "tool": each.tool, "args": each.args} for each in cut.done],
                )
            state = await service.fork(run_id, body.at, principal, confirmed=True)
    response.headers["location"] = f"/api/runs/{state.run_id}"
    return await service.document(state.run_id)
