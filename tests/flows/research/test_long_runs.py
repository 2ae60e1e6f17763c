"""Long research runs: the conversation of the lead is kept between turns, and old turns leave a small window."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flows.judges import briefs, judge
from leadhand import RunStatus
from leadhand.core.conversation import ToolMessage, UserMessage
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import calls, calls_all, fails

from .runs import PASSAGES, SOUND, both, lead, model, research

WINDOW = 12_000
"""Characters of a request of the lead that the small window holds."""
LONG_TEXT = "A heat pump in a house of 1930 needs 9 kW [aaaaaaaa.1]. " * 2_000


def todos(n: int) -> Any:
    return calls("todo_list_write", todos=[{"id": "1", "content": f"part {n}", "status": "pending"}])


def writes_much(request: ModelRequest) -> Any:
    turn = sum(message.role == "assistant" for message in request.messages)
    steps = [calls("search", query="size"), calls("filesystem_write", path="size.md", content=LONG_TEXT)]
    return steps[turn] if turn < 2 else {"summary": LONG_TEXT[:56], "artifact_path": "memory/size.md"}


def size(request: ModelRequest) -> int:
    return sum(len(message.model_dump_json()) for message in request.messages)


@pytest.mark.slow
def test_old_turns_leave_a_small_window_and_the_lead_goes_on(home: Path) -> None:
    asked = 0

    def sixty(request: ModelRequest) -> Any:
        nonlocal asked
        if size(request) > WINDOW:
            return fails("too_large", "context_length", "too long")
        asked += 1
        if asked > 60:
            return SOUND
        if asked == 1:
            return both(request)
        return calls_all(
            ("todo_list_write", {"todos": [{"id": "1", "content": f"part {asked} {'x' * 400}", "status": "pending"}]}),
            ("filesystem_read", {"path": f"memory/none{asked}.md"}),
        )

    scripted = model(lead=sixty)
    answer = research(home, scripted, max_turns=70)

    assert answer.status is RunStatus.SUCCEEDED, answer.document
    requests = [each for each in scripted.requests if each.worker == "lead" and size(each) <= WINDOW]
    assert len(requests) == 61
    first, last = requests[0].messages, requests[-1].messages
    assert last[:2] == first
    assert isinstance(last[2], UserMessage)
    assert {"todo_list_read", "filesystem_tree"} <= set(re.findall(r"\w+", last[2].text))
    for request in requests:
        expected = [
            (call.id, call.name) for each in request.messages if each.role == "assistant" for call in each.tool_calls
        ]
        assert [(each.call_id, each.name) for each in request.messages if isinstance(each, ToolMessage)] == expected
        latest = [each for each in request.messages if each.role == "assistant"][-4:]
        made = [f"part {n} " for n in range(2, 61)][: requests.index(request) - 1][-4:]
        assert all(text in str(each) for text, each in zip(made, latest[-len(made) :], strict=False))


def test_an_answer_from_the_file_of_an_earlier_run_cites_it_and_is_judged_beside_it(home: Path) -> None:
    assert research(home, model()).status is RunStatus.SUCCEEDED
    said = "The installation costs 18,000 euros [memory/costs.md]."
    read = calls("filesystem_read", path="memory/costs.md")
    scripted = model(lead=lead(read, said), judge=judge())
    answer = research(home, scripted, check="judge")

    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, said.replace("memory/costs.md", "1"))
    assert [each.title for each in answer.sources] == ["memory/costs.md"]
    (given,) = briefs(scripted, "judge")
    assert PASSAGES["bbbbbbbb.1"] in given["evidence"]["1"]["written"]
    assert "passage" not in given["evidence"]["1"], "a model wrote it, so it proves nothing by itself"


def test_a_claim_that_cites_a_file_of_a_subagent_is_judged_beside_the_passages_that_the_file_cites(home: Path) -> None:
    said = "The installation costs 18,000 euros [memory/costs.md]."
    scripted = model(lead=lead(both, calls("filesystem_read", path="memory/costs.md"), said), judge=judge())
    answer = research(home, scripted, check="judge")

    assert answer.status is RunStatus.SUCCEEDED
    (given,) = briefs(scripted, "judge")
    assert given["claims"][0]["cites"] == ["1", "bbbbbbbb.1"]
    assert given["evidence"]["bbbbbbbb.1"]["passage"] == PASSAGES["bbbbbbbb.1"]
    assert "written" in given["evidence"]["1"]


def test_a_file_that_a_lead_read_and_does_not_cite_is_no_result_of_a_tool(home: Path) -> None:
    assert research(home, model()).status is RunStatus.SUCCEEDED
    reads = calls_all(("filesystem_read", {"path": "memory/costs.md"}), ("filesystem_tree", {}))
    scripted = model(lead=lead(reads, "It costs 18,000 euros."), judge=judge())
    research(home, scripted, check="judge")
    (given,) = briefs(scripted, "judge")
    (evidence,) = given["evidence"].values()
    assert "returned" not in evidence
    assert PASSAGES["bbbbbbbb.1"] in str(evidence["read"])


def test_a_judge_knows_which_parts_were_not_finished(home: Path) -> None:
    scripted = model(lead=lead(both, SOUND), costs=fails("invalid", "bad_request", "away"), judge=judge())
    research(home, scripted, check="judge")
    (gap,) = briefs(scripted, "judge")[0]["context"]["gaps"]
    assert gap["what"] == "costs"
    assert "away" in gap["reason"]
