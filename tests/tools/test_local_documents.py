"""A directory of documents: found by their text, refreshed when they change, and never left."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leadhand.core.errors import ToolError
from leadhand.core.tool import message_of
from leadhand.core.value import object_of
from leadhand.engine.redaction import Redactor
from leadhand.ports import ToolContext
from leadhand.tools.web import documents as module
from leadhand.tools.web import web_search
from leadhand.tools.web.documents import LocalDocuments
from leadhand.tools.web.library import DocumentsFirst, OfflineLibrary


def pdf(text: str) -> bytes:
    """A PDF with one page and this text."""
    content = f"BT /F 12 Tf 10 50 Td ({text}) Tj ET"
    parts = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    whole, places = "%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(whole))
        whole += f"{number} 0 obj{part}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer<</Root 1 0 R/Size 6>>\nstartxref\n{len(whole)}\n%%EOF"
    return f"{whole}xref\n0 6\n0000000000 65535 f \n{table}{end}".encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "heating.md").write_text("# Our heating\n\nThe boiler in the basement was replaced in 2019.\n")
    (folder / "deep" / "notes.txt").write_text("The garden shed has a green roof.\n")
    (folder / "garage.pdf").write_bytes(pdf("The bicycle garage has 321 places."))
    (folder / "page.html").write_text(
        "<html><head><title>Rules of the house</title></head><body><article><p>"
        + "Quiet hours begin at ten in the evening. " * 8
        + "</p></article></body></html>"
    )
    (folder / "picture.png").write_bytes(b"boiler")
    (folder / ".hidden.md").write_text("hidden boiler")
    return folder


@pytest.fixture
def documents(folder: Path, tmp_path: Path) -> LocalDocuments:
    return LocalDocuments(folder, tmp_path / "home" / "documents")


def urls(documents: LocalDocuments, query: str) -> list[str]:
    documents.refresh()
    return [page.url for page in documents.search(query, 5)]


def test_every_kind_of_document_is_found(documents: LocalDocuments) -> None:
    assert urls(documents, "boiler") == ["document:heating.md"]
    assert urls(documents, "green roof") == ["document:deep/notes.txt"]
    assert urls(documents, "bicycle garage places") == ["document:garage.pdf"]
    assert urls(documents, "quiet hours") == ["document:page.html"]
    [page] = documents.search("boiler", 1)
    assert (page.title, page.sample) == ("Our heating", False)


def test_a_changed_file_is_read_again_and_a_deleted_one_is_forgotten(documents: LocalDocuments, folder: Path) -> None:
    assert urls(documents, "boiler")
    (folder / "heating.md").write_text("A heat pump now.\n")
    (folder / "deep" / "notes.txt").unlink()
    assert urls(documents, "boiler") == urls(documents, "green roof") == []
    assert urls(documents, "heat pump") == ["document:heating.md"]


def test_a_file_that_has_not_changed_is_not_read_again(
    documents: LocalDocuments, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    real = module._content
    monkeypatch.setattr(module, "_content", lambda file: read.append(file) or real(file))
    assert urls(documents, "boiler")
    assert len(read) == 4
    assert urls(documents, "boiler")
    assert len(read) == 4


def test_links_that_leave_the_directory_are_not_followed(
    documents: LocalDocuments, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The treasure is under the oak.")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "away").symlink_to(outside)
    (folder / "gone.md").symlink_to(outside / "absent.md")
    (folder / "same.md").symlink_to(folder / "heating.md")
    os.mkfifo(folder / "pipe.md")
    assert urls(documents, "treasure oak") == []
    assert sorted(urls(documents, "boiler")) == ["document:heating.md", "document:same.md"]


@pytest.mark.parametrize("url", ["document:../outside.md", "document:/etc/passwd", "document:", "document:.hidden.md"])
async def test_only_what_is_listed_can_be_read(url: str, documents: LocalDocuments, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside")
    assert documents.find(url) is None
    with pytest.raises(ToolError) as refused:
        await DocumentsFirst(documents, OfflineLibrary()).fetch(url)
    assert refused.value.failure.type == "no_such_document"


async def test_local_documents_come_first_and_are_not_all(documents: LocalDocuments) -> None:
    library = DocumentsFirst(documents, OfflineLibrary())
    found = await library.search("heating", 4)
    assert found[0].url == "document:heating.md"
    assert [page.sample for page in found] == [False, True, True, True]
    assert (await library.fetch("document:heating.md")).text == found[0].text


async def test_local_documents_are_the_result_if_the_web_fails_and_the_result_says_why(
    documents: LocalDocuments, sample: ToolContext
) -> None:
    class Broken(OfflineLibrary):
        async def search(self, query: str, limit: int) -> list[None]:
            raise ToolError("no network", type="connection")

    library = DocumentsFirst(documents, Broken())
    assert [page.url for page in await library.search("boiler", 4)] == ["document:heating.md"]
    assert await library.search("unknown words", 4) == []
    notes: list[str] = []
    returned = await web_search("boiler", context=replace(sample, library=library, emit=notes.append))
    assert len(notes) == 1
    assert "no network" in notes[0]
    assert object_of(message_of(returned.raw))["incomplete"] == notes[0]
    assert (returned.summary or "").endswith(f"({notes[0]})")


def test_a_query_of_which_few_words_match_finds_the_passages_that_match_best(
    documents: LocalDocuments, folder: Path
) -> None:
    (folder / "voting.md").write_text("# Votes\n\nDebian needs a supermajority to change its constitution.\n")
    (folder / "methods.md").write_text("# Methods\n\nThis method of heating is new.\n")
    documents.refresh()
    query = "Condorcet Schulze method supermajority Debian constitution"
    assert [page.url for page in documents.search(query, 4)] == ["document:voting.md", "document:methods.md"]
    assert documents.search("Condorcet supermajority", 4)[0].url == "document:voting.md"
    assert documents.search("Condorcet Schulze", 4) == []


def test_secrets_are_redacted_before_they_are_stored(folder: Path, tmp_path: Path) -> None:
    (folder / "keys.md").write_text("# Keys\n\nThe token of the door is hunter2hunter2.\n")
    redact = Redactor(["hunter2hunter2"]).text
    documents = LocalDocuments(folder, tmp_path / "index", redact)
    documents.refresh()
    [page] = documents.search("token door", 1)
    assert "hunter2" not in page.text
    assert all(b"hunter2" not in file.read_bytes() for file in (tmp_path / "index").iterdir())


def test_a_broken_document_costs_only_itself(
    documents: LocalDocuments, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n1 0 obj <</Type")
    (folder / "empty.md").write_text("")
    assert urls(documents, "boiler") == ["document:heating.md"]
    assert "broken.pdf" in caplog.text
    assert documents.find("document:broken.pdf") is None


def test_a_damaged_index_is_made_again(documents: LocalDocuments, tmp_path: Path) -> None:
    assert urls(documents, "boiler")
    [file] = (tmp_path / "home" / "documents").iterdir()
    file.write_bytes(b"no database" * 1000)
    assert urls(documents, "boiler") == ["document:heating.md"]
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT 1 FROM documents").fetchall() == [(1,)] * 4
    assert file.stat().st_mode & 0o077 == 0


def test_a_directory_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="gone"):
        LocalDocuments(tmp_path / "gone", tmp_path / "index").refresh()


def test_several_processes_index_a_directory_at_once_and_none_is_locked_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.extracted

    def slow(*given: Any, **more: Any) -> Any:
        time.sleep(0.1)
        return real(*given, **more)

    monkeypatch.setattr(module, "extracted", slow)
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)  # less than it takes to index the directory
    each = [LocalDocuments(folder, tmp_path / "index") for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda documents: urls(documents, "boiler"), each))
    assert found == [["document:heating.md"]] * 4


async def test_a_search_that_is_given_up_ends_the_indexing_for_it(
    documents: LocalDocuments, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on = threading.Event(), threading.Event()
    read: list[str] = []

    def waits(*_: Any, url: str, **__: Any) -> Any:
        read.append(url)
        began.set()
        assert goes_on.wait(60)
        raise ToolError("unreadable", type="unreadable")

    monkeypatch.setattr(module, "extracted", waits)
    search = asyncio.ensure_future(DocumentsFirst(documents, OfflineLibrary()).search("boiler", 1))
    await asyncio.to_thread(began.wait, 60)
    search.cancel()
    await asyncio.gather(search, return_exceptions=True)
    goes_on.set()
    for thread in [each for each in threading.enumerate() if each.name == "leadhand-documents"]:
        await asyncio.to_thread(thread.join, 60)
    assert len(read) == 1
