"""Single model calls of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from leadhand.app.steering.model_calls import ModelCallDocument, model_call
from leadhand.core.errors import UsageError
from leadhand.server.contract import Route
from leadhand.server.problems import no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheService

router = APIRouter(route_class=Route, prefix="/api/runs/{run_id}/calls", tags=["events"])
CallId = Annotated[
    str,
    Path(
        description="The key of a call in the view, which is the number of the event with which it began; or its `id`,"
        " for the latest call with that id.",
        examples=["wo-001.0/t1"],
        max_length=500,
    ),
]


@router.get("/{call_id:path}", responses=responses(401, 403, 404, 422, 429, 503))
async def get_model_call(run_id: RunId, call_id: CallId, service: TheService, _: Reader) -> ModelCallDocument:
    """One model call: the prompt as it was sent, the reply, tokens, cost and duration."""
    try:
        return await model_call(service.runtime, run_id, call_id)
    except UsageError as error:
        raise no_such(error.what, error.how) from error
