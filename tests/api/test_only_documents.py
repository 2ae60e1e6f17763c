"""Documents of the user: searches wait for their index, and a setting keeps every query on the machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Leadhand, Limits, RunStatus, UsageError
from leadhand.core.run import RunDefinition
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask
from leadhand.tools.decorator import tool
from leadhand.tools.web import bundled, library, web_fetch, web_search
from leadhand.tools.web import documents as indexing

WEB = [web_search, web_fetch]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.md").write_text(
            f"# Boiler {number}\n\nThe boiler of house {number} was replaced in 2019.\n"
        )
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that left the machine."""
    left: list[str] = []

    async def hits(_web: Any, query: str, *_: Any) -> list[Any]:
        left.append(query)
        return []

    monkeypatch.setattr(library, "hits", hits)
    return left


def searching(*queries: str) -> ScriptedModel:
    planned = [subtask(f"search {number}", "web_search", query=query) for number, query in enumerate(queries)]
    return ScriptedModel(plan=[plans(*planned)], lenient=True)


async def definition_of(lead: Leadhand, run_id: str) -> RunDefinition:
    return (await lead.get(run_id)).state.definition


@pytest.mark.slow
async def test_searches_wait_for_the_index_and_none_fails(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = indexing.extracted

    def slow(content: bytes, kind: str, *, url: str, title: str) -> Any:
        read.append(url)
        time.sleep(0.2)
        return real(content, kind, url=url, title=title)

    monkeypatch.setattr(indexing, "extracted", slow)
    monkeypatch.setattr(library, "AT_ONCE_S", 0.05, raising=False)
    quick = tool(name="web_search", timeout=1.0, retries=0)(web_search.function)
    bundled.search("boiler", 1)  # the index of Leadhand's own documents takes a moment, too
    models = searching(*(f"boiler house {number}" for number in range(8)))

    async with leadhand_of(models=models, tools=[quick], home=home, documents=folder, model="offline") as lead:
        answer = await lead.run("Search")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert sorted(read) == [f"document:{number}.md" for number in range(8)]


async def test_only_documents_are_searched_and_nothing_is_fetched(home: Path, folder: Path, asked: list[str]) -> None:
    models = searching("boiler", "a word that no document has")
    async with leadhand_of(
        models=models, tools=[*WEB], home=home, documents=folder, only_documents=True, limits=Limits(budget=None)
    ) as lead:
        answer = await lead.run("Search")
        definition = await definition_of(lead, answer.run_id)

    assert asked == []
    assert answer.status is RunStatus.SUCCEEDED
    assert {source.url.partition(":")[0] for source in answer.sources} == {"document"}
    assert [tool.name for tool in definition.tools] == ["web_search"]


async def test_without_that_setting_the_web_is_searched_too(home: Path, folder: Path, asked: list[str]) -> None:
    async with leadhand_of(
        models=searching("boiler"), tools=[*WEB], home=home, documents=folder, limits=Limits(budget=None)
    ) as lead:
        answer = await lead.run("Search")
        definition = await definition_of(lead, answer.run_id)

    assert asked == ["boiler"]
    assert [tool.name for tool in definition.tools] == ["web_search", "web_fetch"]


@pytest.mark.parametrize("flow", ["report", "research"])
async def test_no_worker_of_a_flow_can_fetch_and_all_sources_are_documents(home: Path, folder: Path, flow: str) -> None:
    async with leadhand_of(model="offline", home=home, documents=folder, only_documents=True) as lead:
        answer = await lead.run("When was the boiler of house 3 replaced?", flow=flow)
        definition = await definition_of(lead, answer.run_id)
        earlier = await lead.get(answer.run_id)
        later = (await (await earlier.follow_up("And that of house 4?")).answer()).run_id
        followed = await definition_of(lead, later)

    assert answer.sources
    assert {source.url.partition(":")[0] for source in answer.sources} == {"document"}
    for each in (definition, followed):
        named = {name for worker in each.workers for name in worker.tools} | {tool.name for tool in each.tools}
        assert "web_search" in named
        assert "web_fetch" not in named
        assert each.only_documents


@pytest.mark.parametrize("documents", [None, "missing"])
def test_without_documents_it_is_refused(home: Path, tmp_path: Path, documents: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        leadhand_of(home=home, documents=documents and tmp_path / documents, only_documents=True)
    assert "--documents" in refused.value.how


def test_a_project_can_set_it(home: Path, tmp_path: Path, folder: Path) -> None:
    manifest = tmp_path / "leadhand.toml"
    manifest.write_text('documents = "docs"\nonly_documents = true\n')
    assert Leadhand.of_project(manifest, home=home).settings.only_documents
