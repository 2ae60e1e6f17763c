"""The events of a run, by page, one by one, or live; and its view for the console."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.sse import EventSourceResponse

from leadhand.app.export.document import event_line
from leadhand.app.export.view_shapes import ViewDocument
from leadhand.core.artifact import Blob, blob_of
from leadhand.core.events import AnyEvent, ApprovalAnswered, Entry, ModelCallBegan, ModelCallReturned, ToolCallReturned
from leadhand.core.words import words
from leadhand.server.access import Access, Principal
from leadhand.server.contract import Route
from leadhand.server.event_shapes import EventDocument
from leadhand.server.live.feeds import Feed, ViewFeed, as_json, shortened
from leadhand.server.live.streams import HEADERS, messages
from leadhand.server.problems import invalid, no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheAccess, TheService
from leadhand.server.schemas import EventsPage

router = APIRouter(route_class=Route, prefix="/api", tags=["events"])
FARTHEST = 2**62
_FeedT = TypeVar("_FeedT", bound=Feed)
Seq = Annotated[int, Path(ge=1, le=FARTHEST, description="The event's number.", examples=[1])]


def streamed(description: str, example: str) -> dict[str, Any]:
    """What the route of a stream is declared with: it is counted, and described for OpenAPI."""
    answers: dict[int | str, dict[str, Any]] = {
        200: {
            "description": description,
            "content": {EventSourceResponse.media_type: {"schema": {"type": "string"}, "example": example}},
        },
        204: {
            "description": "The run has ended, and `Last-Event-ID` is the number of its last event: do not reconnect."
        },
        **responses(401, 403, 404, 422, 429, 503),
    }
    return {"response_class": StreamingResponse, "dependencies": [Depends(_count_stream)], "responses": answers}


@router.get("/runs/{run_id}/events", response_model=EventsPage, responses=responses(401, 403, 404, 422, 429, 503))
async def get_events(
    run_id: RunId,
    service: TheService,
    _: Reader,
    after: Annotated[int, Query(ge=0, le=FARTHEST, description="Only events above this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Events per page.")] = 500,
    brief: Annotated[bool, Query(description="Cut long texts: for lists of events.")] = False,
) -> Response:
    """Events of a run above ``after``, in order."""
    store = service.runtime.store
    head = (await store.run(run_id)).head_seq
    entries = await store.read(run_id, after=after, limit=min(limit, head - after)) if after < head else []
    lines = [shortened(_line(each)) if brief else _line(each) for each in entries]
    last = entries[-1].seq if entries else head
    page = {"events": lines, "next_after": last if last < head else None, "last_seq": head}
    return Response(as_json(page), media_type="application/json")


def _line(entry: Entry) -> dict[str, Any]:
    return {**event_line(entry), "words": asdict(words(entry))}


async def _count_stream(request: Request, access: TheAccess, principal: Reader) -> AsyncGenerator[None]:
    """Count a stream while it is open. Raises Problem (429)."""
    with access.rates.stream(principal.key_id), request.app.state.metrics.stream():
        yield


async def _begin(
    after: Annotated[int, Query(ge=0, le=FARTHEST, description="The last event that the client has.")] = 0,
    last_event_id: Annotated[
        str | None, Header(description="The last event that a broken stream delivered; takes precedence over after.")
    ] = None,
) -> tuple[int, bool]:
    """Return the event after which a stream begins, and whether the client reconnects. Raises Problem (422)."""
    if last_event_id is None:
        return after, False
    if last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < len(str(FARTHEST)):
        return int(last_event_id), True
    raise invalid(
        "Last-Event-ID is not the number of an event", "Send the last id that you received, or omit the header."
    )


Begin = Annotated[tuple[int, bool], Depends(_begin)]


def _following(kind: type[_FeedT]) -> Callable[..., AsyncGenerator[_FeedT]]:
    """Return the dependency that follows a run with one kind of feed."""

    async def follow(run_id: RunId, service: TheService, _: Reader) -> AsyncGenerator[_FeedT]:
        async with service.feeds.following(run_id, kind) as feed:
            yield feed

    return follow


Events = Annotated[Feed, Depends(_following(Feed))]
View = Annotated[ViewFeed, Depends(_following(ViewFeed))]


def _stream(feed: Feed, begin: tuple[int, bool], access: Access, principal: Principal) -> Response:
    """Stream a feed. A client that reconnects after the last event of a run that has ended gets 204: ``EventSource``
    then stops."""
    after, again = begin
    if again and feed.end is not None and after >= feed.head:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return EventSourceResponse(messages(feed, after, lambda: access.still(principal)), headers=HEADERS)


@router.get(
    "/runs/{run_id}/events/stream",
    **streamed(
        "A live stream of all events after `after`: `id` is the event's number, `event: delta` is text that is being"
        " written (without an id: `attempt`, `offset` in UTF-16 code units, `text`), `event: end` says that the run"
        " has ended.",
        'retry: 2000\nid: 1\ndata: {"seq":1,"type":"run_started"}\n\n'
        'event: delta\ndata: {"attempt":"compose/a1","offset":0,"text":"Light rain"}\n\n'
        'event: end\ndata: {"status":"succeeded","last_seq":28}\n\n',
    ),
)
async def stream_events(feed: Events, begin: Begin, access: TheAccess, principal: Reader) -> Response:
    """The events of a run, live."""
    return _stream(feed, begin, access, principal)


@router.get(
    "/runs/{run_id}/events/{seq}", response_model=EventDocument, responses=responses(401, 403, 404, 422, 429, 503)
)
async def get_event(run_id: RunId, seq: Seq, service: TheService, _: Reader) -> JSONResponse:
    """One event with its full texts. Payloads that it refers to by digest have a route of their own."""
    entries = await service.runtime.store.read(run_id, after=seq - 1, limit=1)
    if not entries:
        head = (await service.runtime.store.run(run_id)).head_seq
        raise no_such(f"run {run_id} has no event {seq}", f"Its events are 1 to {head}.")
    return JSONResponse(_line(entries[0]))


@router.get("/runs/{run_id}/events/{seq}/payloads/{digest}", responses=responses(401, 403, 404, 422, 429, 503))
async def get_payload(
    run_id: RunId,
    seq: Seq,
    digest: Annotated[str, Path(description="The digest in the event's $blob.", max_length=100)],
    service: TheService,
    _: Reader,
) -> Response:
    """A payload above 4 kB, to which the event refers by digest, as JSON."""
    entries = await service.runtime.store.read(run_id, after=seq - 1, limit=1)
    if not any(_refers(entry.event, digest) for entry in entries):
        raise no_such(f"event {seq} of run {run_id} does not refer to {digest}", "Name an event with this $blob.")
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


@router.get("/runs/{run_id}/view", response_model=ViewDocument, responses=responses(401, 403, 404, 422, 429, 503))
async def get_view(feed: View) -> Response:
    """What the console shows of a run, as of ``last_seq``."""
    return Response(await feed.snapshot(), media_type="application/json")


@router.get(
    "/runs/{run_id}/view/stream",
    **streamed(
        "A live stream of the view: first `event: snapshot` with the whole view, unless the changes after `after` are"
        " still in memory; then a message for each event, whose `patch` is a JSON merge patch (RFC 7396) on the view"
        " and whose `id` is the event's number. `event: delta` is text that is being written, `event: end` says that"
        " the run has ended.",
        'retry: 2000\nid: 40\nevent: snapshot\ndata: {"run_id":"run_…","last_seq":40}\n\n'
        'id: 41\ndata: {"seq":41,"at":"2026-11-21T17:04:51.872Z","type":"step_settled",'
        '"words":{"title":"Completed"},"patch":{"steps":{"wo-001.0":{"status":"completed"}}}}\n\n'
        'event: end\ndata: {"status":"succeeded","last_seq":41}\n\n',
    ),
)
async def stream_view(feed: View, begin: Begin, access: TheAccess, principal: Reader) -> Response:
    """What the console shows of a run, live."""
    return _stream(feed, begin, access, principal)
