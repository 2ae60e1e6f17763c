"""Whole reports on local documents with a weak model: whatever it plans, writes and reviews, they end honestly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand
from real_model.commands import leadhand
from real_model.conftest import Record
from real_model.honesty import check_document, finished
from real_model.reports import DOCUMENTS, SECTIONS, TOPIC, Clippings, FixedPlan, written_to
from real_model.servers import MODEL, ModelServer

CODES = {"succeeded": (0,), "partial": (3, 5), "failed": (1, 5)}
MARKS = ("*(not confirmed by its source)*", "*(no source)*")
_CITATION = re.compile(r"\[p[^\]]*\]")
_FIGURE = re.compile(r"\d+")


@pytest.fixture(autouse=True)
def _no_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches of the web fail at once, so that nothing but the documents is found."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-none")
    monkeypatch.setenv("LEADHAND_TAVILY_URL", "http://127.0.0.1:9")


def check_report(document: dict[str, Any]) -> None:
    """Check that a report calls nothing supported that no passage has, and nothing approved that nobody approved."""
    task, answer = document["task"], document["answer"]
    passages = task["passages"]
    for passage in passages.values():
        assert passage["text"].split() == DOCUMENTS[passage["url"].removeprefix("document:")].split()
    assert {source["url"] for source in document["sources"]} <= {passage["url"] for passage in passages.values()}
    for each in task["statements"]:
        if each["status"] == "supported":
            texts = " ".join(passages[name]["text"] for name in each["passages"])
            assert texts, each
            assert set(_FIGURE.findall(_CITATION.sub("", each["text"]))) <= set(_FIGURE.findall(texts)), each
    unsupported = [each for each in task["statements"] if each["status"] == "unsupported"]
    assert sum(map(answer.count, MARKS)) >= len(unsupported)
    assert task["revisions"] <= 1
    if document["status"] == "succeeded":
        assert task["feedback"] == {"verdict": "APPROVED", "findings": [], "unreviewed": []}
        assert not unsupported
    for line in task["research"]:
        if line["status"] == "completed" and not line["findings"]:
            assert any(gap["reason"].startswith("no source answers it") for gap in document["gaps"])


async def test_a_report_of_a_weak_model_ends_with_its_status_its_reason_and_bounded_spending(
    server: ModelServer, tmp_path: Path
):
    where = ("--model", MODEL, "--documents", written_to(tmp_path / "documents"), "--json")
    run = await leadhand("report", TOPIC, *where, "--max-output-tokens", "120", "--max-requests", "3")

    check_document(run.json)
    check_report(run.json)
    assert run.code in CODES[run.json["status"]], run.err
    assert run.json["usage"]["requests"] <= 3
    assert f"{run.json['status']} in " in run.err


async def test_a_report_that_a_weak_model_writes_and_reviews_calls_only_supported_what_its_documents_say(
    server: ModelServer, record: Record, tmp_path: Path
):
    """The plan is fixed, and code finds the passages. The writer and the reviewer are real."""
    recorder = await record(server)
    async with Leadhand(
        MODEL,
        agents=[FixedPlan, Clippings],
        documents=written_to(tmp_path / "documents"),
        max_output_tokens=100,
        max_requests=3,
    ) as lead:
        run = await lead.start(TOPIC, flow="report", agents=["planner", "researcher"])
        document, _ = await finished(run, recorder)

    check_report(document)
    task = document["task"]
    assert [(each["heading"], each["question"]) for each in task["research"]] == list(SECTIONS)
    assert {passage["url"] for passage in task["passages"].values()} == {f"document:{name}" for name in DOCUMENTS}
    assert recorder.sent, "the writer is asked"
    assert document["status"] != "failed", "there are findings"
