"""Runs as files, and the files of runs."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from leadhand.app.export.export import Format, export
from leadhand.app.export.run_document import artifact_lines
from leadhand.app.export.shapes import ArtifactLine
from leadhand.server.contract import Route
from leadhand.server.live.feeds import as_json
from leadhand.server.problems import no_such, responses
from leadhand.server.routes.dependencies import Reader, RunId, TheService

router = APIRouter(route_class=Route, prefix="/api/runs/{run_id}", tags=["files"])
TYPES = {
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}


@router.get(
    "/export",
    responses={
        200: {
            "description": "The run as a file: lines of JSON (its events, then its document), its document as JSON, its"
            " answer as Markdown, or a self-contained HTML page. Of a run that cannot be read to its end, the lines"
            " go as far as it can be read, and the last one says why.",
            "content": {"application/x-ndjson": {}, "application/json": {}, "text/markdown": {}, "text/html": {}},
        },
        **responses(401, 403, 404, 421, 422, 429, 503),
    },
)
async def export_run(
    run_id: RunId,
    service: TheService,
    _: Reader,
    format: Annotated[
        Format, Query(description="JSON lines, the run document, the answer as Markdown, or an HTML page.")
    ] = "jsonl",
) -> Response:
    """Download a run as a file, as ``leadhand runs export`` writes it."""
    text, _damage = await export(service.runtime.store, service.runtime.flows, run_id, as_json, format=format)
    disposition = f'attachment; filename="{run_id}.{format}"'
    return Response(text, media_type=TYPES[format], headers={"content-disposition": disposition})


@router.get("/artifacts", responses=responses(401, 403, 404, 421, 422, 429, 503))
async def list_artifacts(run_id: RunId, service: TheService, _: Reader) -> list[ArtifactLine]:
    """List every version of the files that the run produced."""
    return list(artifact_lines(await service.runtime.load(run_id)))


@router.get(
    "/artifacts/{path:path}",
    responses={
        200: {"description": "The content of the file.", "content": {"application/octet-stream": {}}},
        **responses(401, 403, 404, 421, 422, 429, 503),
    },
)
async def get_artifact(
    run_id: RunId,
    path: Annotated[str, Path(description="The file's path.", examples=["memory/notes.md"], max_length=1_000)],
    service: TheService,
    _: Reader,
    version: Annotated[int | None, Query(description="The version, from 1; by default the latest.")] = None,
) -> Response:
    """Download a file that the run produced."""
    kept = [each for each in artifact_lines(await service.runtime.load(run_id)) if each.path == path]
    found = next((each for each in reversed(kept) if version in (None, each.version)), None)
    if found is None:
        what = f"version {version} of {path!r}" if kept else f"file {path!r}"
        raise no_such(f"run {run_id} has no {what}", f"See GET /api/runs/{run_id}/artifacts.")
    try:
        content = await service.runtime.store.blob(found.digest)
    except KeyError as error:
        raise no_such(
            f"the content of {path!r} is no longer stored", "Retry the subtask that wrote the file."
        ) from error
    # Always a download: a file that a model wrote must not run as a page of this site.
    disposition = f"attachment; filename*=UTF-8''{quote(path.rpartition('/')[2], safe='')}"
    return Response(content, media_type="application/octet-stream", headers={"content-disposition": disposition})
