"""Documents and files are compressed for clients that accept it; streams are not, so that nothing holds them back."""

from __future__ import annotations

from pathlib import Path

from server.conftest import OpenDoor
from server.doors import Door

GZIP = {"accept-encoding": "br, gzip"}
PLAIN = {"accept-encoding": "identity"}


async def test_documents_are_compressed_and_small_ones_are_not(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    url = f"/api/runs/{run_id}?include=steps&include=context_store"

    packed, plain = await api.get(url, headers=GZIP), await api.get(url, headers=PLAIN)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.headers["vary"].lower() == plain.headers["vary"].lower() == "accept-encoding"
    small = await api.get("/healthz", headers=GZIP)
    assert (small.json(), "content-encoding" in small.headers) == ({"status": "ok"}, False)


async def test_files_of_the_console_are_compressed_and_kept(open_door: OpenDoor, tmp_path: Path) -> None:
    for name in ("index.html", "main.js", "chunk-JOBHLA7S.js"):
        (tmp_path / name).write_text("export const text = 'words';\n" * 10_000)
    api = await open_door(console=tmp_path)

    main, chunk = await api.get("/main.js", headers=GZIP), await api.get("/chunk-JOBHLA7S.js", headers=GZIP)
    assert main.headers["content-encoding"] == chunk.headers["content-encoding"] == "gzip"
    assert main.text == (tmp_path / "main.js").read_text()
    assert main.headers["cache-control"] == "no-cache"
    assert "immutable" in chunk.headers["cache-control"]
    again = await api.get("/main.js", headers={**GZIP, "if-none-match": main.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    missing = await api.get("/chunk-AAAAAAAA.js", headers=GZIP)
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-cache")


async def test_a_stream_is_not_compressed(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    stream = await api.get(f"/api/runs/{run_id}/events/stream", headers=GZIP)
    assert "content-encoding" not in stream.headers
    assert "event: end" in stream.text
