"""``leadhand research`` from the command line: what a person reads while it works, and its exit codes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from flows.research import runs

from leadhand.testing.faults import served_by
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import brief_of, calls


def test_progress_names_subagents_and_todos_and_nothing_internal(leadhand: Any) -> None:
    result = leadhand("research", "--offline", "What is a fork?")
    assert result.code == 0
    lines = [line.rstrip() for line in result.err.splitlines()]
    assert len([line for line in lines if re.search(r"  fork\b(?!:)", line)]) == 2, "its start and its end"
    assert [line for line in lines if line.endswith(": What is a fork?")]
    assert not any("controller" in line or line == "Lead" or "/t2/" in line for line in lines)


def test_limits_are_told_in_words_once_for_equal_failures(leadhand: Any) -> None:
    result = leadhand("research", "--offline", "--max-requests", "4", "What is a fork? What is an epoch?")
    assert result.code == 5
    assert result.err.count("raise max_requests") == 1


def test_what_needs_no_source_exits_with_success(leadhand: Any) -> None:
    assert leadhand("research", "--offline", "2+2").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit",
    [("--budget", "0.4"), ("--timeout", "5")],
)
async def test_a_limit_of_money_or_time_ends_research_with_an_answer_and_exit_code_5(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, str]
) -> None:
    async def more(request: Any) -> Any:
        if limit[0] == "--timeout":
            await asyncio.Event().wait()
        turn = sum(message.role == "assistant" for message in request.messages)
        return calls("subagent_run", **runs.task(f"size {turn}"))

    models = runs.model(lead=runs.lead(runs.both, more), writer=runs.SOUND)
    ask = models.ask

    async def served(request: Any, on_text: Any = None) -> Any:
        """Tell the workers by their briefs: a request over HTTP does not name them."""
        names = {"task": "subagent", "sentences": "reviewer", "findings": "writer"}
        worker = next((worker for name, worker in names.items() if name in brief_of(request)), "lead")
        return await ask(request.evolve(worker=worker), on_text)

    models.ask = served
    async with ScriptedServer(served_by(models)) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_PRICE", "2/8")
        line = ("research", "--model", "openai_compatible:scripted", "--tools", runs.__file__, "--json", *limit)
        result = await asyncio.to_thread(leadhand.process, *line, runs.QUESTION)

    assert result.code == 5, result.err
    document = result.json
    assert " 9 kW [1]." in document["answer"]
    assert {gap["class"] for gap in document["gaps"]} == {"exhausted"}
    name = limit[0].removeprefix("--").replace("-", "_")
    assert name in document["gaps"][0]["next_action"]


@pytest.mark.slow
def test_the_command_that_continues_a_run_names_the_limit_to_raise_and_works_as_it_is(leadhand: Any) -> None:
    first = leadhand("research", "--offline", "--max-turns", "1", "What is a fork?")
    assert first.code == 5
    command = first.command("runs resume")
    run_id = command[2]
    assert command[3:] == ["--max-turns", "11"]
    assert leadhand("runs", "show", run_id).command("runs resume") == command
    assert leadhand("runs", "show", run_id, "--json").json["proposed_limits"] == {"max_turns": 11}
    for verb in ("resume", "retry"):
        leadhand("runs", verb, run_id).refused(f"leadhand {' '.join(command)}")
        leadhand("runs", verb, run_id, "--max-turns", "1").refused("1")
    leadhand("runs", "resume", run_id, "--max-turns", "0").refused("--max-turns", "1,000")

    assert leadhand(*command).code == 0
    leadhand(*command[:-1], "19").refused(f"leadhand runs show {run_id}")
