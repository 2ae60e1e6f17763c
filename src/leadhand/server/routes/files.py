"""What a run leaves behind, as files: what it produced, and the run itself."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response

from leadhand.app.html_export import page
from leadhand.domain.document import event_line, run_document
from leadhand.server.feeds import as_json
from leadhand.server.problems import no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheService, document
from leadhand.server.schemas import ArtifactsList

router = APIRouter(prefix="/api/runs/{run_id}", tags=["files"])
TYPES = {"jsonl": "application/x-ndjson", "html": "text/html; charset=utf-8"}


@router.get(
    "/export",
    responses={
        200: {
            "description": "The run as a file: lines of JSON (its events, then its document), or one page of HTML that"
            " needs nothing else.",
            "content": {"application/x-ndjson": {}, "text/html": {}},
        },
        **responses(401, 403, 404, 421, 422, 429, 503),
    },
)
async def export_run(
    run_id: RunId,
    service: TheService,
    _: Reader,
    format: Annotated[Literal["jsonl", "html"], Query(description="Lines of JSON, or a page.")] = "jsonl",
) -> Response:
    """A run as a file, as ``leadhand runs export`` writes it."""
    store = service.runtime.store
    entries = await store.read(run_id)
    state = await service.runtime.load(run_id)
    whole = run_document(state, entries, owner=(await store.run(run_id)).owner)
    if format == "html":
        text = page(whole, entries)
    else:
        lines = [*(event_line(entry) for entry in entries), {"type": "run", "document": whole}]
        text = "".join(f"{as_json(line)}\n" for line in lines)
    disposition = f'attachment; filename="{state.run_id}.{format}"'
    return Response(text, media_type=TYPES[format], headers={"content-disposition": disposition})


@router.get("/artifacts", response_model=ArtifactsList, responses={**responses(401, 403, 404, 421, 422, 429, 503)})
async def list_artifacts(run_id: RunId, service: TheService, _: Reader) -> JSONResponse:
    """The files that a run has produced. Those of the work-order flow produce none: what they find is in their log."""
    return document({"artifacts": (await service.document(run_id))["artifacts"]})


@router.get("/artifacts/{path:path}", responses={**responses(401, 403, 404, 421, 422, 429, 503)})
async def get_artifact(
    run_id: RunId,
    path: Annotated[str, Path(description="As the list of files names it.", max_length=1_000)],
    service: TheService,
    _: Reader,
) -> Response:
    """One of these files, as an attachment. No path leads anywhere but to a file of the list."""
    listed = [each["path"] for each in (await service.document(run_id))["artifacts"]]
    raise no_such(f"run {run_id} has no file {path!r}", f"It has: {', '.join(listed) or 'none'}.")
