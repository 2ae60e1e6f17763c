"""A research run of a weak model over local documents: whatever it does, the run ends in time and is honest."""

from __future__ import annotations

from pathlib import Path

from real_model.commands import leadhand
from real_model.honesty import check_document
from real_model.servers import MODEL, ModelServer

EXIT_CODES = {"succeeded": {0}, "partial": {3, 5}, "failed": {1, 5}}
MOST = 4


async def test_research_of_a_weak_model_ends_honestly_and_within_its_limits(server: ModelServer, tmp_path: Path):
    (tmp_path / "pond.md").write_text("# Pond\n\nThe pond is 1.2 metres deep. Two frogs live in it.\n")
    limits = ("--max-requests", str(MOST), "--max-output-tokens", "64", "--max-turns", "3", "--timeout", "90")
    how = ("--model", MODEL, "--documents", str(tmp_path), "--json", *limits)
    run = await leadhand("research", "How deep is the pond?", *how)

    document = run.json
    check_document(document)
    assert run.code in EXIT_CODES[document["status"]], run.err
    assert document["usage"]["requests"] <= MOST
    if document["status"] == "succeeded":
        assert document["sources"]
    written = {each["path"] for each in document["artifacts"]}
    assert all(path.startswith("memory/") for path in written)
    for source in document["sources"]:
        assert source["url"] in {"document:pond.md", ""} or source["url"].startswith("leadhand:"), source
