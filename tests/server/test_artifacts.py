"""The files that a run produced can be downloaded."""

from __future__ import annotations

from pathlib import Path

from server.doors import Door, door

from leadhand.core.events import ArtifactWritten


async def test_any_version_of_a_file_is_downloaded_and_never_shown_as_a_page(tmp_path: Path) -> None:
    async with door(tmp_path, offline=True) as api:
        run = await api.lead.start("Weather in Paris")
        await run.wait()
        for content in (b"old", b"<script>new</script>"):
            digest = await api.runtime.store.put_blob(content)
            written = ArtifactWritten(attempt="wo-001.0/a1", path="memory/ä b.html", digest=digest, size=len(content))
            await api.runtime.store.append(run.run_id, [written])
        answer = await api.http.get(f"/api/runs/{run.run_id}/artifacts/memory/ä b.html")
        listed = (await api.http.get(f"/api/runs/{run.run_id}/artifacts")).json()
        nothing = await api.http.get("/api/runs/run_0/artifacts")
        missing = await api.http.get(f"/api/runs/{run.run_id}/artifacts/memory/none.md")
        file = f"/api/runs/{run.run_id}/artifacts/memory/ä b.html"
        versions = [await api.http.get(file, params={"version": number}) for number in (1, 2, 3, 0)]

    assert (answer.status_code, answer.content) == (200, b"<script>new</script>")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A4%20b.html"
    assert [(each["path"], each["version"], each["bytes"], each["by"]) for each in listed] == [
        ("memory/ä b.html", 1, 3, "wo-001.0"),
        ("memory/ä b.html", 2, 20, "wo-001.0"),
    ]
    assert listed[0]["at"] <= listed[1]["at"]
    assert (nothing.status_code, missing.status_code) == (404, 404)
    assert missing.json()["code"] == "not_found"
    assert [each.content for each in versions[:2]] == [b"old", b"<script>new</script>"]
    assert [each.status_code for each in versions] == [200, 200, 404, 404]


async def test_a_run_can_be_taken_away_as_a_file(api: Door) -> None:
    run_id = await api.started("measure Paris")
    await api.over(run_id)
    lines = await api.get(f"/api/runs/{run_id}/export")
    page = await api.get(f"/api/runs/{run_id}/export?format=html")

    assert lines.text.splitlines()[0].startswith('{"seq":1,')
    assert page.text.startswith("<!doctype html>")
    assert page.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
    document = await api.get(f"/api/runs/{run_id}/export?format=json")
    assert document.headers["content-type"] == "application/json"
    assert document.json()["run_id"] == run_id
    answer = await api.get(f"/api/runs/{run_id}/export?format=md")
    assert answer.headers["content-type"].startswith("text/markdown;")
    assert "40 dB" in answer.text
    assert (await api.get(f"/api/runs/{run_id}/export?format=pdf")).status_code == 422
    assert (await api.get(f"/api/runs/{run_id}/artifacts/../../secret")).status_code == 404
    assert (await api.get(f"/api/runs/{run_id}/artifacts/notes.md")).status_code == 404
