"""The passages that tools return: those of sources, and one of any other data."""

from __future__ import annotations

import pytest

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.tool import CallState, Source
from leadhand.flows.passages import passages_in
from leadhand.flows.seam.results import unfenced


def source(**changes: object) -> dict[str, object]:
    passages = [
        {"id": "3f9a1c20.1", "text": "A heat pump costs 12,000 euros."},
        {"id": "3f9a1c20.2", "text": "It hums."},
    ]
    return {
        "title": "Costs",
        "url": "https://costs.example/",
        "source": "3f9a1c20",
        "published": "2025-03-01",
        "passages": passages,
        **changes,
    }


def found(raw: object, **changes: object):
    return passages_in(CallState(call_id="c", tool="web_search", raw=raw)._replace(**changes))


def test_a_search_has_the_passages_of_its_results_in_order():
    read = found({"results": [source(), "not a source", {"title": "no passages"}]})
    assert [each.id for each in read] == ["3f9a1c20.1", "3f9a1c20.2"]
    assert read[0].model_dump() == {
        "id": "3f9a1c20.1",
        "text": "A heat pump costs 12,000 euros.",
        "title": "Costs",
        "url": "https://costs.example/",
        "source": "3f9a1c20",
        "published": "2025-03-01",
    }


def test_a_fetched_page_is_one_source():
    assert [each.text for each in found(source())] == ["A heat pump costs 12,000 euros.", "It hums."]
    assert found({"results": []} | source(passages=[])) == []


def test_the_data_of_any_other_tool_is_one_passage_with_the_digest_of_its_text():
    one = found({"price": 12}, tool="price_tool", sources=(Source(title="List", url="https://list.example/"),))
    assert [(each.text, each.title, each.url) for each in one] == [('{"price": 12}', "List", "https://list.example/")]
    assert one[0].id == f"{one[0].source}.1" == found('{"price": 12}')[0].id
    assert found({"price": 12}, summary="It costs 12 euros.")[0].text == "It costs 12 euros."
    assert found(None) == []


def test_a_search_without_results_has_no_passages():
    assert found({"results": []}, summary="No sources were found for 'qwzx'.") == []
    assert found({"results": [{"price": 12}]}) != []


def test_a_failed_call_has_no_passages():
    assert found(source(), failure=Failure.of("no answer", "timeout", FailureClass.TRANSIENT)) == []


def test_a_tool_cannot_make_up_an_id():
    (one,) = found(source(passages=[{"id": "[p1] <script>", "text": "It hums."}]))
    assert one.id == f"{one.source}.1"
    assert one.text == "It hums."


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```markdown\n# A\n\nB.\n```", "# A\n\nB."),
        (" ````MD\r\nA.\r\n````\n", "A."),
        ("```md\nA.\n\n```python\nx\n```\n\nB.\n```", "A.\n\n```python\nx\n```\n\nB."),
        *((kept, kept) for kept in ("A.", "```\nx\n```", "```python\nx\n```", "```md", "```md\nA.\n```\nB.")),
        *((kept, kept) for kept in ("```md\nA.\n```\nB.\n```md\nC.\n```", "A.\n```md\nB.\n```")),
    ],
)
def test_a_text_is_taken_out_of_a_fence_that_encloses_all_of_it(text: str, inside: str) -> None:
    assert unfenced(text) == inside
