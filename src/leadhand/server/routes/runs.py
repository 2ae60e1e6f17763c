"""Start, list and show runs."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator, Field, StringConstraints

from leadhand.app.arguments import TAG_KEY, approvals, parse_tags
from leadhand.app.export.run_document import run_line
from leadhand.app.steering.access import Scope
from leadhand.core.errors import NoSuchRun, RunOwned
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.runs import RunSort
from leadhand.server.access import Access, Principal, require
from leadhand.server.contract import Route
from leadhand.server.live.streams import until_rest
from leadhand.server.problems import Problem, invalid, no_such, responses
from leadhand.server.routes.dependencies import (
    CallersTrace,
    IdempotencyKey,
    Reader,
    RunId,
    Runner,
    TheAccess,
    TheService,
    WaitSeconds,
)
from leadhand.server.schemas import RunAnswer, RunDocument, RunPart, RunsPage
from leadhand.server.service import Service
from leadhand.server.start_request import (
    TAG_VALUE,
    Submission,
    asked_for,
    loosens,
    of_worker,
)

router = APIRouter(route_class=Route, prefix="/api/runs", tags=["runs"])


def _moment(given: str) -> datetime:
    """Parse ISO 8601; refuse a number, which pydantic would read as seconds. Raises ValueError."""
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise ValueError("use ISO 8601, for example 2026-11-21T17:00:00Z") from None


Moment = Annotated[datetime, BeforeValidator(_moment)]
Include = Annotated[list[RunPart], Query(description="A part of the document to return, too. Repeatable.")]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
Wanted = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
"""A text to look for: no database stores NUL."""
Tag = Annotated[str, StringConstraints(pattern=f"^{TAG_KEY}={TAG_VALUE}$")]
SEARCH = (
    "Only runs with all of these words, or words that begin with them, in their request, answer, gaps, errors or tool"
    " arguments. While a run is running, only its name and request are searched."
)


@router.post(
    "",
    status_code=202,
    responses={
        200: {"model": RunDocument, "description": "With `wait`: the run has ended."},
        **responses(401, 403, 409, 413, 422, 429, 503),
    },
)
async def start_run(
    submission: Submission,
    service: TheService,
    access: TheAccess,
    principal: Runner,
    response: Response,
    trace: CallersTrace,
    idempotency_key: IdempotencyKey = None,
    wait: WaitSeconds = 0,
    include: Include = [],  # noqa: B006
) -> RunDocument:
    """Start a run. The server executes it in the background, and the next server continues it after a restart."""
    if loosens(approvals(submission.approve), service.runtime.settings):
        require(principal, Scope.APPROVE)
    submission = of_worker(submission)
    state, again = await service.started_before(submission, principal, idempotency_key), True
    if state is None:
        asked = asked_for(submission, service.runtime, principal)  # what is never allowed is refused first
        async with service.starting(access.rates, principal):
            state, again = await service.start(submission, asked, principal, idempotency_key, traceparent=trace)
    response.headers["location"] = f"/api/runs/{state.run_id}"
    if again:
        response.headers["idempotency-replayed"] = "true"
    await _wait(service, access, principal, state.run_id, wait)
    document = await service.document(state.run_id, include)
    if wait and document.status in ENDED:
        response.status_code = HTTPStatus.OK
    return document


@router.get("", responses=responses(401, 403, 404, 409, 422, 429, 503))
async def list_runs(
    service: TheService,
    access: TheAccess,
    principal: Reader,
    status: Annotated[RunStatus | None, Query(description="Only runs with this status.")] = None,
    flow: Annotated[Wanted | None, Query(max_length=100, description="Only runs of this flow.")] = None,
    q: Annotated[Wanted, Query(max_length=200, description="Only runs whose name or request contains this text.")] = "",
    search: Annotated[Wanted, Query(max_length=200, description=SEARCH)] = "",
    since: Annotated[Moment | None, Query(description="Only runs created at or after this time (ISO 8601).")] = None,
    until: Annotated[Moment | None, Query(description="Only runs created before this time (ISO 8601).")] = None,
    asking: Annotated[bool, Query(description="Only runs with open approvals or questions.")] = False,
    tag: Annotated[list[Tag], Query(description="Only runs with this tag, as `KEY=VALUE`. Repeatable.")] = [],  # noqa: B006
    min_cost_usd: Annotated[NotNegative, Query(description="Only runs that cost at least this much.")] = None,
    max_cost_usd: Annotated[NotNegative, Query(description="Only runs that cost at most this much.")] = None,
    min_duration_s: Annotated[NotNegative, Query(description="Only runs that took at least this long.")] = None,
    max_duration_s: Annotated[NotNegative, Query(description="Only runs that took at most this long.")] = None,
    sort: Annotated[RunSort, Query(description="What the list is sorted by, the largest first.")] = RunSort.CREATED,
    ascending: Annotated[bool, Query(description="The smallest, or the oldest, first.")] = False,
    limit: Annotated[int, Query(ge=1, le=500, description="Runs per page.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=100, pattern="^[!-~]+$", description="`next_cursor` of the previous page.")
    ] = None,
) -> RunsPage:
    """The runs that the caller may read, newest first or sorted. All pages of a list need the same order."""
    try:
        if cursor is not None:
            await access.check_run(principal, cursor, Scope.READ)
        listings = await service.runtime.store.runs(
            status=status,
            flow=flow,
            text=q,
            search=search,
            min_cost_usd=min_cost_usd,
            max_cost_usd=max_cost_usd,
            min_duration_s=min_duration_s,
            max_duration_s=max_duration_s,
            sort=sort,
            ascending=ascending,
            since=_with_zone(since, "since"),
            until=_with_zone(until, "until"),
            asking=asking,
            tags=parse_tags(tag, "tag"),
            key_id=principal.reads_of,
            limit=limit + 1,
            before=cursor,
        )
    except NoSuchRun as error:
        raise no_such(f"there is no page after {cursor}", "Use next_cursor of a page, or omit the cursor.") from error
    page = listings[:limit]
    following = page[-1].run_id if len(listings) > limit else None
    return RunsPage(runs=tuple(run_line(each) for each in page), next_cursor=following)


def _with_zone(moment: datetime | None, name: str) -> datetime | None:
    """Return a time that has a time zone. Raises Problem (422) if it has none."""
    if moment is not None and moment.utcoffset() is None:
        raise invalid(f"{name} has no time zone", "Add one, for example 2026-11-21T17:00:00Z.")
    return moment


@router.get(
    "/{run_id}",
    responses=responses(401, 403, 404, 422, 429, 503),
)
async def get_run(
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: Reader,
    wait: WaitSeconds = 0,
    include: Include = [],  # noqa: B006
) -> RunDocument:
    """The current run document. Follow its events from ``last_seq``. With all parts, it is what ``leadhand run --json``
    prints."""
    await _wait(service, access, principal, run_id, wait)
    return await service.document(run_id, include)


@router.get("/{run_id}/answer", responses=responses(401, 403, 404, 422, 429, 503))
async def get_answer(
    run_id: RunId, service: TheService, access: TheAccess, principal: Reader, wait: WaitSeconds = 0
) -> RunAnswer:
    """The answer of a run and its evidence, without the rest of its document."""
    await _wait(service, access, principal, run_id, wait)
    return RunAnswer.of(await service.runtime.document(run_id))


async def _wait(service: Service, access: Access, principal: Principal, run_id: str, seconds: float) -> None:
    """Wait until a run rests, at most ``seconds``. Raises Problem (429): a request that waits counts as a stream."""
    if seconds:
        with access.rates.stream(principal.key_id):
            await until_rest(service.feeds, run_id, seconds)


@router.delete("/{run_id}", status_code=204, responses=responses(401, 403, 404, 409, 422, 429, 503))
async def delete_run(
    run_id: RunId,
    service: TheService,
    _: Runner,
    confirmed: Annotated[bool, Query(description="Delete the run even if it has not finished.")] = False,
) -> Response:
    """Delete a run that no process drives, damaged ones too: its events, artifacts and files. Its streams end."""
    try:
        await service.delete(run_id, confirmed=confirmed)
    except RunOwned as error:
        how = f"Cancel or pause it first: POST /api/runs/{run_id}/cancel"
        raise Problem(HTTPStatus.CONFLICT, error.code, f"run {run_id} is being driven", how) from error
    return Response(status_code=204)
