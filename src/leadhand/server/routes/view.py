"""The view of a run: what a console draws, as a snapshot or as a stream of what each event changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from leadhand.domain.view import ViewDocument
from leadhand.server.problems import responses
from leadhand.server.routes.dependencies import Reader, RunId, TheAccess, TheService
from leadhand.server.routes.events import FARTHEST, STREAM, LastEventId, event_stream, from_seq

router = APIRouter(prefix="/api", tags=["events"])


@router.get(
    "/runs/{run_id}/view",
    response_model=ViewDocument,
    responses={
        200: {
            "description": "What to show of a run, as of `last_seq`. For a client that accepts `text/event-stream`:"
            " `event: snapshot` with all of it, unless the changes above `after` are at hand; then a message for each"
            " event, whose `patch` is a JSON merge patch (RFC 7396) on the view and whose `id` is the event's number;"
            " `event: delta` is text that is being written, `event: end` says that the run is over.",
            "content": {
                STREAM: {
                    "schema": {"type": "string"},
                    "example": 'retry: 2000\n\nid: 40\nevent: snapshot\ndata: {"run_id":"run_…","last_seq":40}\n\n'
                    'id: 41\ndata: {"seq":41,"at":"2026-11-21T17:04:51.872Z","type":"attempt_settled",'
                    '"words":{"title":"Completed"},"patch":{"assignments":{"wo-001.0":{"status":"completed"}}}}\n\n'
                    'event: end\ndata: {"status":"succeeded","last_seq":41}\n\n',
                }
            },
        },
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
        int | None, Query(ge=0, le=FARTHEST, description="Of a stream: the last event that the client has.")
    ] = None,
    accept: Annotated[str, Header(description="text/event-stream for a stream.")] = "",
    last_event_id: LastEventId = None,
) -> Response:
    """The view of a run."""
    if STREAM in accept:
        start = from_seq(last_event_id, after)
        return await event_stream(request, run_id, service, access, principal, after=start, view=True)
    head = (await service.runtime.store.run(run_id)).head_seq
    view = service.feeds.views.of(run_id)
    await view.reach(head)
    return Response(view.snapshot(), media_type="application/json")
