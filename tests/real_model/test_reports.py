"""Whole reports on local documents with a weak model: whatever it plans, writes and reviews, they end honestly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Limits
from real_model.commands import leadhand
from real_model.conftest import Record
from real_model.honesty import check_document, finished
from real_model.reports import DOCUMENTS, SECTIONS, TOPIC, Clippings, FixedPlan, written_to
from real_model.servers import MODEL, ModelServer

CODES = {"succeeded": (0,), "partial": (3, 5), "failed": (1, 5)}


@pytest.fixture(autouse=True)
def _no_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches of the web fail at once, so that nothing but the documents is found."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-none")
    monkeypatch.setenv("LEADHAND_TAVILY_URL", "http://127.0.0.1:9")


def check_report(document: dict[str, Any]) -> None:
    """Check that a report confirms nothing that cites what does not exist, approves nothing that nobody approved."""
    task, evidence = document["task"], document["evidence"]
    passages = task["passages"]
    for passage in passages.values():
        assert passage["text"].split() == DOCUMENTS[passage["url"].removeprefix("document:")].split()
    assert {source["url"] for source in document["sources"]} <= {passage["url"] for passage in passages.values()}
    verdicts = Counter(each["verdict"] for each in document["claims"])
    assert all(verdicts[verdict] == evidence[verdict] for verdict in ("confirmed", "unconfirmed", "contradicted"))
    for each in document["claims"]:
        if not passages.keys() >= {*each.get("cites", ())}:
            assert each["verdict"] in ("unconfirmed", "contradicted"), each
    doubted = {each["n"] for each in evidence["doubts"]}
    assert doubted == {each["n"] for each in document["claims"] if each["verdict"] in ("unconfirmed", "contradicted")}
    assert task["revisions"] <= 1
    if document["status"] == "succeeded":
        assert task["feedback"]["verdict"] == "APPROVED"
        assert not verdicts["contradicted"]
    statuses = {each["id"]: each["status"] for each in document["steps"]}
    for line in task["research"]:
        if statuses.get(line["key"]) == "completed" and not line["findings"]:
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
    assert f"{run.json['status']} after " in run.err


async def test_a_report_that_a_weak_model_writes_and_reviews_calls_only_supported_what_its_documents_say(
    server: ModelServer, record: Record, tmp_path: Path
):
    """The plan is fixed, and code finds the passages. The writer and the reviewer are real."""
    recorder = await record(server)
    async with leadhand_of(
        MODEL,
        workers=[FixedPlan, Clippings],
        documents=written_to(tmp_path / "documents"),
        limits=Limits(max_output_tokens=100, max_requests=3),
    ) as lead:
        run = await lead.start(TOPIC, flow="report", agents=["planner", "researcher"])
        document, _ = await finished(run, recorder)

    check_report(document)
    task = document["task"]
    assert [(each["heading"], each["question"]) for each in task["research"]] == list(SECTIONS)
    assert {passage["url"] for passage in task["passages"].values()} == {f"document:{name}" for name in DOCUMENTS}
    assert recorder.sent, "the writer is asked"
    assert document["status"] != "failed", "there are findings"
