"""The events of a run, by page, one by one, or live; and its view for the console."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from leadhand.app.document import event_line
from leadhand.app.document.view_shapes import ViewDocument
from leadhand.app.steering.access import Scope
from leadhand.core.artifact import Blob, blob_of
from leadhand.core.events import AnyEvent, ApprovalAnswered, Entry, ModelCallBegan, ModelCallReturned, ToolCallReturned
from leadhand.core.run import ENDED
from leadhand.core.words import words
from leadhand.server.access import Access, Principal
from leadhand.server.contract import Route
from leadhand.server.event_shapes import EventDocument
from leadhand.server.live.feeds import as_json, shortened
from leadhand.server.live.pages import Chunk
from leadhand.server.live.stream import EventStream
from leadhand.server.problems import Problem, invalid, no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheAccess, TheService
from leadhand.server.schemas import EventsPage
from leadhand.server.service import Service

router = APIRouter(route_class=Route, prefix="/api", tags=["events"])
STREAM = "text/event-stream"
OVER: dict[int | str, dict[str, Any]] = {
    204: {"description": "The run has ended, and `Last-Event-ID` is the number of its last event: do not reconnect."}
}
FARTHEST = 2**62
LastEventId = Annotated[
    str | None, Header(description="The last event that a broken stream delivered; takes precedence over after.")
]
Seq = Annotated[int, Path(ge=1, le=FARTHEST, description="The event's number.", examples=[1])]


@router.get(
    "/runs/{run_id}/events",
    response_model=EventsPage,
    responses={
        200: {
            "description": "A page of events. For a client that accepts `text/event-stream`, a live stream of all"
            " events after `after`: `id` is the event's number, `event: delta` is text that is being written (without"
            " an id: `attempt`, `offset` in UTF-16 code units, `text`), `event: end` says that the run has ended.",
            "content": {
                STREAM: {
                    "schema": {"type": "string"},
                    "example": 'retry: 2000\nid: 1\ndata: {"seq":1,"type":"run_started"}\n\n'
                    'event: delta\ndata: {"attempt":"compose/a1","offset":0,"text":"Light rain"}\n\n'
                    'event: end\ndata: {"status":"succeeded","last_seq":28}\n\n',
                }
            },
        },
        **OVER,
        **responses(401, 403, 404, 422, 429, 503),
    },
)
async def get_events(
    request: Request,
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: Reader,
    after: Annotated[int | None, Query(ge=0, le=FARTHEST, description="Only events above this number.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Events per page; ignored for a stream.")] = 500,
    brief: Annotated[bool, Query(description="Cut long texts: for lists of events.")] = False,
    accept: Annotated[str, Header(description="Send text/event-stream for a stream.")] = "",
    last_event_id: LastEventId = None,
) -> Response:
    """Return events of a run above ``after``."""
    if STREAM in accept:
        start, again = from_seq(last_event_id, after), last_event_id is not None
        return await event_stream(request, run_id, service, access, principal, after=start, again=again, brief=brief)
    store = service.runtime.store
    listing = await store.run(run_id)
    head = listing.head_seq
    start = after or 0
    count = max(min(limit, head - start), 0)

    async def read() -> list[Chunk]:
        lines = [_line(entry) for entry in await store.read(run_id, after=start, limit=count)]
        return [Chunk(start + count, ",".join(as_json(shortened(each) if brief else each) for each in lines).encode())]

    page = await service.feeds.pages.of((run_id, listing.created_at, "page", start, count, brief), read)
    last = start + count if count else head
    rest = {"next_after": last if last < head else None, "last_seq": head}
    return Response(b'{"events":[%s],%s' % (page[0].data, as_json(rest)[1:].encode()), media_type="application/json")


def _line(entry: Entry) -> dict[str, Any]:
    return {**event_line(entry), "words": asdict(words(entry))}


async def event_stream(
    request: Request,
    run_id: str,
    service: Service,
    access: Access,
    principal: Principal,
    *,
    after: int,
    again: bool = False,
    brief: bool = False,
    view: bool = False,
) -> Response:
    """Return a stream of a run's events, or of the changes to its view. Raises NoSuchRun.

    A client that comes ``again`` after the last event of a run that has ended gets 204: ``EventSource`` then stops.
    """
    listing = await service.runtime.store.run(run_id)
    if again and listing.status in ENDED and after >= listing.head_seq:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    open_for = contextlib.ExitStack()
    open_for.enter_context(access.rates.stream(principal.key_id))
    open_for.enter_context(request.app.state.metrics.stream())
    return EventStream(
        service.feeds,
        run_id,
        after=after,
        brief=brief,
        view=view,
        welcome=None if principal.key_id is None else lambda: access.still(principal),
        gone=open_for.close,
        cut=request.app.state.cut,
    )


def from_seq(last_event_id: str | None, after: int | None) -> int:
    """Return the number after which a stream begins. Raises Problem (422)."""
    if last_event_id is None:
        return after or 0
    if last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < len(str(FARTHEST)):
        return int(last_event_id)
    raise invalid(
        "Last-Event-ID is not the number of an event", "Send the last id that you received, or omit the header."
    )


@router.get(
    "/runs/{run_id}/events/{seq}", response_model=EventDocument, responses=responses(401, 403, 404, 422, 429, 503)
)
async def get_event(run_id: RunId, seq: Seq, service: TheService, _: Reader) -> JSONResponse:
    """One event with its full texts. Payloads that it refers to by digest are at /api/payloads."""
    entries = await service.runtime.store.read(run_id, after=seq - 1, limit=1)
    if not entries:
        head = (await service.runtime.store.run(run_id)).head_seq
        raise no_such(f"run {run_id} has no event {seq}", f"Its events are 1 to {head}.")
    return JSONResponse(_line(entries[0]))


@router.get("/payloads/{digest}", responses=responses(401, 403, 404, 422, 429, 503))
async def get_payload(
    digest: Annotated[str, Path(pattern=r"^sha256:[0-9a-f]{64}$", description="The digest in the event's $blob.")],
    service: TheService,
    access: TheAccess,
    principal: Reader,
    run_id: Annotated[str | None, Query(max_length=100, description="The run of the event that refers to it.")] = None,
    seq: Annotated[int | None, Query(ge=1, le=FARTHEST, description="The number of that event.")] = None,
) -> Response:
    """A payload above 4 kB, to which events refer by digest, as JSON.

    Name the event with `run_id` and `seq`. Only keys with the scope `read:all` can omit both.
    """
    if run_id is not None and seq is not None:
        await access.check_run(principal, run_id, Scope.READ)
        entries = await service.runtime.store.read(run_id, after=seq - 1, limit=1)
        if not any(_refers(entry.event, digest) for entry in entries):
            raise no_such(f"event {seq} of run {run_id} does not refer to {digest}", "Name an event with this $blob.")
    elif run_id is not None or seq is not None:
        raise invalid("run_id and seq belong together", "Send both: they name the event that refers to the payload.")
    elif principal.reads_of is not None:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "forbidden",
            f"the key {principal.name} may not read the payloads of all runs",
            "Send run_id and seq of an event that refers to the payload, or use a key with the scope read:all.",
        )
    try:
        body = await service.runtime.store.blob(digest)
    except KeyError as error:
        raise no_such(f"there is no payload {digest}", "Use the digest in the $blob of an event.") from error
    json.loads(body)  # stored payloads are JSON unless they are damaged
    return Response(body, media_type="application/json")


def _refers(event: AnyEvent, digest: str) -> bool:
    """Whether an event refers to a payload, in a field where only the engine writes references."""
    match event:
        case ModelCallBegan():
            return any(isinstance(part, Blob) and part.digest == digest for part in event.request)
        case ToolCallReturned() | ApprovalAnswered():
            payload = event.raw
        case ModelCallReturned():
            payload = event.asked
        case _:
            return False
    return (blob := blob_of(payload)) is not None and blob.digest == digest


@router.get(
    "/runs/{run_id}/view",
    response_model=ViewDocument,
    responses={
        200: {
            "description": "What to show of a run, as of `last_seq`. A client that accepts `text/event-stream` gets a"
            " live stream: first `event: snapshot` with the whole view, unless the changes after `after` are still in"
            " memory; then a message for each event, whose `patch` is a JSON merge patch (RFC 7396) on the view and"
            " whose `id` is the event's number. `event: delta` is text that is being written, `event: end` says that"
            " the run has ended.",
            "content": {
                STREAM: {
                    "schema": {"type": "string"},
                    "example": 'retry: 2000\nid: 40\nevent: snapshot\ndata: {"run_id":"run_…","last_seq":40}\n\n'
                    'id: 41\ndata: {"seq":41,"at":"2026-11-21T17:04:51.872Z","type":"step_settled",'
                    '"words":{"title":"Completed"},"patch":{"steps":{"wo-001.0":{"status":"completed"}}}}\n\n'
                    'event: end\ndata: {"status":"succeeded","last_seq":41}\n\n',
                }
            },
        },
        **OVER,
        **responses(401, 403, 404, 422, 429, 503),
    },
)
async def get_view(
    request: Request,
    run_id: RunId,
    service: TheService,
    access: TheAccess,
    principal: Reader,
    after: Annotated[
        int | None,
        Query(ge=0, le=FARTHEST, description="For a stream: the number of the last event that the client has."),
    ] = None,
    accept: Annotated[str, Header(description="Send text/event-stream for a stream.")] = "",
    last_event_id: LastEventId = None,
) -> Response:
    """The view of a run."""
    if STREAM in accept:
        start, again = from_seq(last_event_id, after), last_event_id is not None
        return await event_stream(request, run_id, service, access, principal, after=start, again=again, view=True)
    head = (await service.runtime.store.run(run_id)).head_seq
    view = service.feeds.views.of(run_id)
    await view.reach(head)
    return Response(view.snapshot(), media_type="application/json")
