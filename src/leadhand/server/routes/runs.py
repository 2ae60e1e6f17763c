"""Runs: started, listed, looked at."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator

from leadhand.domain.access import Scope
from leadhand.domain.document import iso
from leadhand.domain.errors import NoSuchRun
from leadhand.domain.limits import usd
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.server.access import require
from leadhand.server.problems import Problem, no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, Runner, TheAccess, TheService, document
from leadhand.server.schemas import RunDocument, RunsPage
from leadhand.server.start_request import Submission, loosens

router = APIRouter(prefix="/api/runs", tags=["runs"])


def _moment(given: str) -> datetime:
    """A moment as it is written: a number is none, though pydantic would take it for seconds. Raises ValueError."""
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise ValueError("give a moment in ISO 8601: 2026-11-21T17:00:00Z") from None


Moment = Annotated[datetime, BeforeValidator(_moment)]


@router.post(
    "",
    status_code=202,
    response_model=RunDocument,
    responses={**responses(401, 403, 413, 422, 429, 503)},
)
async def start_run(
    submission: Submission,
    service: TheService,
    access: TheAccess,
    principal: Runner,
    idempotency_key: Annotated[
        str | None,
        Header(description="Makes asking twice start one run: the same key and body give the same run again."),
    ] = None,
) -> JSONResponse:
    """Start a run. It is carried out in the background, survives this server, and is followed by its events."""
    if loosens(submission, service.runtime.settings):
        require(principal, Scope.APPROVE)
    state, again = await service.started_before(submission, principal, idempotency_key), True
    if state is None:
        async with access.rates.new_run(principal.key_id, service.active(principal)):
            state, again = await service.start(submission, principal, idempotency_key)
    headers = {"location": f"/api/runs/{state.run_id}", **({"idempotency-replayed": "true"} if again else {})}
    return document(await service.document(state.run_id), 202, headers)


@router.get("", response_model=RunsPage, responses={**responses(401, 403, 404, 422, 429, 503)})
async def list_runs(
    service: TheService,
    _: Reader,
    status: Annotated[RunStatus | None, Query(description="Only runs with this status.")] = None,
    q: Annotated[str, Query(max_length=200, description="Only runs with this text in their request.")] = "",
    since: Annotated[Moment | None, Query(description="Only runs made then or later (ISO 8601).")] = None,
    until: Annotated[Moment | None, Query(description="Only runs made before (ISO 8601).")] = None,
    asking: Annotated[bool, Query(description="Only runs that ask people something.")] = False,
    limit: Annotated[int, Query(ge=1, le=500, description="Of a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=100, description="next_cursor of the page before.")] = None,
) -> JSONResponse:
    """Runs, newest first."""
    try:
        listings = await service.runtime.store.runs(
            status=status,
            text=_readable(q),
            since=_with_zone(since, "since"),
            until=_with_zone(until, "until"),
            asking=asking,
            limit=limit + 1,
            before=_readable(cursor),
        )
    except NoSuchRun as error:
        raise no_such(f"there is no page after {cursor}", "Take next_cursor of a page, or leave it out.") from error
    page = listings[:limit]
    following = page[-1].run_id if len(listings) > limit else None
    return document({"runs": [line(each) for each in page], "next_cursor": following})


def _readable(text: Any) -> Any:
    """A text that a database can be asked for. Raises Problem (422)."""
    if isinstance(text, str) and "\0" in text:
        raise _invalid("a text holds a NUL character", "Leave it out: no database keeps one.")
    return text


def _with_zone(moment: datetime | None, name: str) -> datetime | None:
    """A moment that stands for one moment. Raises Problem (422) without a zone."""
    if moment is not None and moment.utcoffset() is None:
        raise _invalid(f"{name} has no zone", "Add one: 2026-11-21T17:00:00Z")
    return moment


def _invalid(what: str, how: str) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", what, how)


def line(listing: RunListing) -> dict[str, Any]:
    """A run in a list."""
    return {
        "run_id": listing.run_id,
        "flow": listing.flow,
        "request": listing.request,
        "status": listing.status.value,
        "model": listing.model,
        "created_at": iso(listing.created_at),
        "finished_at": iso(listing.finished_at),
        "last_seq": listing.head_seq,
        "owner": listing.owner,
        "orphan": listing.orphan,
        "detached": listing.detached,
        "subtasks": listing.subtasks,
        "completed": listing.completed,
        "failed": listing.failed,
        "asking": listing.asking,
        "requests": listing.requests,
        "tokens": listing.tokens,
        "cost_usd": usd(listing.nanousd),
    }


@router.get("/{run_id}", response_model=RunDocument, responses={**responses(401, 403, 404, 422, 429, 503)})
async def get_run(run_id: RunId, service: TheService, _: Reader) -> JSONResponse:
    """A run as of now: the document of ``leadhand run --json``, with ``last_seq`` to go on from."""
    return document(await service.document(run_id))
