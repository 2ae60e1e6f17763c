"""``--only-documents``: no query leaves the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand.tools.web import library


@pytest.fixture(autouse=True)
def _no_web(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hits(*_: Any) -> list[Any]:
        raise AssertionError("a query left the machine")

    monkeypatch.setattr(library, "hits", hits)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "boiler.md").write_text("# Boiler\n\nThe boiler in the basement was replaced in 2019.\n")
    return str(tmp_path / "docs")


@pytest.mark.parametrize("command", ["run", "report", "research", "serve"])
def test_it_is_refused_without_documents(leadhand: Any, command: str) -> None:
    request = [] if command == "serve" else ["When was the boiler replaced?"]
    refused = leadhand(command, "--offline", "--only-documents", *request)
    assert (refused.code, refused.out) == (2, "")
    assert "--documents" in refused.err.splitlines()[1]


@pytest.mark.parametrize("command", ["report", "research"])
def test_only_documents_are_the_sources_of_a_report(leadhand: Any, folder: str, command: str) -> None:
    flags = ("--offline", "--documents", folder, "--only-documents", "--json")
    document = leadhand(command, *flags, "When was the boiler replaced?").json
    assert [source["url"] for source in document["sources"]] == ["document:boiler.md"]


def test_a_tool_that_is_called_by_hand_searches_only_documents(leadhand: Any, folder: str) -> None:
    flags = ("--documents", folder, "--only-documents", "--json")
    found = leadhand("tools", "call", "web_search", "query=boiler", *flags)
    assert (found.code, "document:boiler.md" in found.out) == (0, True)
    refused = leadhand("tools", "call", "web_fetch", "url=https://example.org", *flags)
    assert (refused.code, refused.json["error"]["type"]) == (1, "no_such_document")
