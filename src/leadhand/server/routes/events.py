"""The events of one run or of all, by page, one by one, or live; and the view of a run for the console."""

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
from leadhand.core.events import (
    EVENT_TYPES,
    AnyEvent,
    ApprovalAnswered,
    Entry,
    ModelCallBegan,
    ModelCallReturned,
    ToolCallReturned,
)
from leadhand.core.text import did_you_mean
from leadhand.core.words import words
from leadhand.server.access import Access, Principal
from leadhand.server.contract import Route
from leadhand.server.event_shapes import EventDocument
from leadhand.server.live.feeds import Feed, ViewFeed, as_json, shortened
from leadhand.server.live.streams import EVERYTHING, HEADERS, Wanted, messages, of_all_runs
from leadhand.server.problems import invalid, no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheAccess, TheService
from leadhand.server.schemas import EventsPage
from leadhand.stores.changes import Place

router = APIRouter(route_class=Route, prefix="/api", tags=["events"])
FARTHEST = 2**62
PLACE = "^([0-9]{1,18}-[0-9]{1,19})?$"
"""A place in the stream of all runs; older releases of FastAPI check the default, too."""
ITEM = {
    "type": "object",
    "properties": {**{name: {"type": "string"} for name in ("data", "event", "id")}, "retry": {"type": "integer"}},
}
"""A message of a stream, as OpenAPI 3.2 describes it."""
_FeedT = TypeVar("_FeedT", bound=Feed)
Seq = Annotated[int, Path(ge=1, le=FARTHEST, description="The event's number.", examples=[1])]


async def _wanted(
    type: Annotated[
        list[str],
        Query(
            description="Only events of this type. Repeatable.",
            json_schema_extra={"items": {"type": "string", "enum": [*EVENT_TYPES]}},
        ),
    ] = [],  # noqa: B006
    subtask: Annotated[
        str, Query(max_length=200, description="Only events about this subtask or step, by its key.")
    ] = "",
) -> Wanted:
    """Return the filter of events that the query names. Raises Problem (422) for an unknown type."""
    for unknown in (each for each in type if each not in EVENT_TYPES):
        near = did_you_mean(unknown, EVENT_TYPES)
        raise invalid(f"there is no type of event {unknown!r}", f"See the reference of events.{near}")
    return Wanted(frozenset(type), subtask)


Filter = Annotated[Wanted, Depends(_wanted)]


def streamed(description: str, example: str, *, of_run: bool = True) -> dict[str, Any]:
    """What the route of a stream is declared with: it is counted, and described for OpenAPI."""
    answers: dict[int | str, dict[str, Any]] = {
        200: {
            "description": description,
            "content": {EventSourceResponse.media_type: {"itemSchema": ITEM, "example": example}},
        },
        **responses(401, 403, 422, 429, 503),
    }
    if of_run:
        over = "The run has ended, and `Last-Event-ID` is the number of its last event: do not reconnect."
        answers |= {204: {"description": over}, **responses(404)}
    return {"response_class": StreamingResponse, "dependencies": [Depends(_count_stream)], "responses": answers}


@router.get("/runs/{run_id}/events", response_model=EventsPage, responses=responses(401, 403, 404, 422, 429, 503))
async def get_events(
    run_id: RunId,
    service: TheService,
    _: Reader,
    wanted: Filter,
    after: Annotated[int, Query(ge=0, le=FARTHEST, description="Only events above this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Events per page.")] = 500,
    brief: Annotated[bool, Query(description="Cut long texts: for lists of events.")] = False,
) -> Response:
    """Events of a run above ``after``, in order."""
    store = service.runtime.store
    head = (await store.run(run_id)).head_seq
    found: list[Entry] = []
    while after < head and len(found) < limit:
        entries = await store.read(run_id, after=after, limit=min(limit - len(found), head - after))
        found += [each for each in entries if wanted.takes(each.event.type, each.event.subject)]
        after = entries[-1].seq if entries else head
    lines = [shortened(_line(each)) if brief else _line(each) for each in found]
    page = {"events": lines, "next_after": after if after < head else None, "last_seq": head}
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
        str,
        Header(
            pattern="^([0-9]{1,18})?$",
            description="The last event that a broken stream delivered; takes precedence over after.",
        ),
    ] = "",
) -> tuple[int, bool]:
    """Return the event after which a stream begins, and whether the client reconnects."""
    return (int(last_event_id), True) if last_event_id else (after, False)


Begin = Annotated[tuple[int, bool], Depends(_begin)]


def _following(kind: type[_FeedT]) -> Callable[..., AsyncGenerator[_FeedT]]:
    """Return the dependency that follows a run with one kind of feed."""

    async def follow(run_id: RunId, service: TheService, _: Reader) -> AsyncGenerator[_FeedT]:
        async with service.feeds.following(run_id, kind) as feed:
            yield feed

    return follow


Events = Annotated[Feed, Depends(_following(Feed))]
View = Annotated[ViewFeed, Depends(_following(ViewFeed))]


def _stream(
    feed: Feed, begin: tuple[int, bool], access: Access, principal: Principal, wanted: Wanted = EVERYTHING
) -> Response:
    """Stream a feed. A client that reconnects after the last event of a run that has ended gets 204: ``EventSource``
    then stops."""
    after, again = begin
    if again and feed.end is not None and after >= feed.head:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return EventSourceResponse(messages(feed, after, lambda: access.still(principal), wanted), headers=HEADERS)


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
async def stream_events(feed: Events, begin: Begin, access: TheAccess, principal: Reader, wanted: Filter) -> Response:
    """The events of a run, live."""
    return _stream(feed, begin, access, principal, wanted)


@router.get(
    "/events/stream",
    **streamed(
        "A live stream of the events of all runs that the caller may read, in the order of their commits, which is"
        " their order in each run. `id` is a place among them: send the last one as `Last-Event-ID` or `after`."
        " Without a place, the stream begins now, with `event: ready`, whose `id` is that place. `event: unreadable`"
        " stands for a damaged event.",
        "retry: 2000\nevent: ready\nid: 214-4611686018427387904\ndata: {}\n\n"
        'id: 215-1\ndata: {"run_id":"run_…","seq":1,"type":"run_started"}\n\n',
        of_run=False,
    ),
)
async def stream_all_events(
    service: TheService,
    access: TheAccess,
    principal: Reader,
    wanted: Filter,
    after: Annotated[
        str | None,
        Query(pattern=PLACE, description="The `id` of the last message that the client has; `0-0` for all events."),
    ] = None,
    last_event_id: Annotated[
        str, Header(pattern=PLACE, description="The same, of a stream that broke; takes precedence over after.")
    ] = "",
    brief: Annotated[bool, Query(description="Cut long texts.")] = True,
) -> Response:
    """The events of all runs that the caller may read, live."""
    place = _place(last_event_id or after)
    stream = of_all_runs(
        service.feeds, service.runtime.database, place, principal.reads_of, wanted,
        brief=brief, welcome=lambda: access.still(principal),
    )  # fmt: skip
    return EventSourceResponse(stream, headers=HEADERS)


def _place(given: str | None) -> Place | None:
    """Return the place that the id of a message names."""
    if not given:
        return None
    position, seq = map(int, given.split("-"))
    return Place(position, min(seq, FARTHEST))


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
