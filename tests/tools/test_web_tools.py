"""Searching and reading sources offline: sample documents and Leadhand's own documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from leadhand.core.errors import ToolError
from leadhand.core.tool import ToolReturn, message_of
from leadhand.ports import ToolContext
from leadhand.tools.services import OfflineWeb
from leadhand.tools.web import web_fetch, web_search
from leadhand.tools.web.library import OfflineLibrary


@pytest.fixture
def offline(sample: ToolContext) -> ToolContext:
    return replace(sample, library=OfflineLibrary())


def shown(returned: ToolReturn) -> Any:
    return message_of(returned.raw)


async def test_a_search_returns_sources_with_passages_and_their_ids(offline: ToolContext) -> None:
    found = await web_search("heat pumps in old houses", 3, context=offline)
    results = shown(found)["results"]
    assert len(results) == 3
    assert results[0]["url"] == "leadhand:samples/heat-pumps-in-old-houses.md"
    assert results[0]["published"] == "2025-03-04"
    assert found.sample
    assert [source.url for source in found.sources] == [each["url"] for each in results]
    for result in results:
        assert 3 <= len(result["passages"]) <= 8
        for passage in result["passages"]:
            source, _, number = passage["id"].partition(".")
            assert source == result["source"]
            assert int(number) >= 1


async def test_a_source_has_the_same_ids_in_a_search_and_when_it_is_read(offline: ToolContext) -> None:
    searched = shown(await web_search("caffeine in coffee", 1, context=offline))["results"][0]
    read = shown(await web_fetch(searched["url"], context=offline))
    whole = {passage["id"]: passage["text"] for passage in read["passages"]}
    assert len(whole) == read["length"]
    assert all(whole[passage["id"]] == passage["text"] for passage in searched["passages"])


async def test_leadhand_answers_from_its_own_documentation(offline: ToolContext) -> None:
    found = await web_search("How does Leadhand recover after a crash?", context=offline)
    pages = {result["url"]: result["passages"] for result in shown(found)["results"][:2]}
    assert pages["leadhand:docs/how-to/steer-a-run.md"]
    assert not found.sample


async def test_nothing_is_found_where_nothing_fits(offline: ToolContext) -> None:
    found = await web_search("capital of Zanzibar", context=offline)
    assert shown(found) == {"results": []}
    assert found.sources == ()


@pytest.mark.parametrize("query", ['heat "pumps" OR NEAR( *', "heat* AND pumps^", "' -- ; DROP TABLE documents", "…"])
async def test_the_syntax_of_the_index_is_plain_text_in_a_query(query: str, offline: ToolContext) -> None:
    assert isinstance(shown(await web_search(query, context=offline))["results"], list)


async def test_focus_chooses_the_passages(offline: ToolContext) -> None:
    url = "leadhand:docs/reference/events.md"
    read = shown(await web_fetch(url, "todos_set", context=offline))
    assert len(read["passages"]) == 12 < read["length"]
    assert any("todos_set" in passage["text"] for passage in read["passages"])
    numbers = [int(passage["id"].partition(".")[2]) for passage in read["passages"]]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("url", ["https://example.org/", "file:///etc/passwd", "leadhand:samples/../tools.py", ""])
async def test_nothing_else_can_be_read_offline(url: str, offline: ToolContext) -> None:
    with pytest.raises(ToolError) as refused:
        await web_fetch(url, context=offline)
    assert refused.value.failure.type == "no_such_document"


@pytest.mark.parametrize("arguments", [{"query": " "}, {"query": "x" * 501}, {"query": "x", "max_results": 11}])
async def test_wrong_arguments_are_refused(arguments: dict[str, Any], offline: ToolContext) -> None:
    with pytest.raises(ToolError) as refused:
        await web_search(**arguments, context=offline)
    assert refused.value.failure.type == "bad_arguments"


async def test_a_context_without_a_library_says_so(context_on: Callable[..., ToolContext]) -> None:
    with pytest.raises(ToolError) as refused:
        await web_search("heat", context=context_on(OfflineWeb(), offline=True))
    assert refused.value.failure.type == "no_library"
