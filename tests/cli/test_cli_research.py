"""``leadhand research`` from the command line: what a person reads while it works, and its exit codes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from flows.research import runs

from leadhand.testing.model_server import ScriptedServer, served_by
from leadhand.testing.scripted_model import brief_of, calls


def test_progress_names_subagents_and_todos_and_nothing_internal(leadhand: Any) -> None:
    result = leadhand("research", "--offline", "What is a fork?")
    assert result.code == 0
    lines = [line.rstrip() for line in result.err.splitlines()]
    assert lines.count("Deciding what to do next") == 1
    assert "Todos updated        0 of 1 completed; now: What is a fork?" in lines
    assert [line for line in lines if "started" in line] == ["Attempt 1 started    fork"]
    assert any(line.startswith("Completed            fork  ") for line in lines)
    assert not any("controller" in line or line == "Lead" or "/t2/" in line for line in lines)


def test_limits_are_told_in_words_once_for_equal_failures(leadhand: Any) -> None:
    result = leadhand("research", "--offline", "--max-requests", "4", "What is a fork, and what is an epoch?")
    assert result.code == 5
    assert (
        "- fork, epoch, the research: the run has no model calls left, besides what is kept for reviews and the answer"
        " (exhausted; raise --max-requests (it was 4), and " in result.out
    )
    assert result.err.count("(it was 4)") == 1


def test_what_needs_no_source_exits_with_success(leadhand: Any) -> None:
    assert leadhand("research", "--offline", "2+2").code == 0
    wrong = leadhand("research", "--offline", "--max-turns", "0", "2+2")
    assert (wrong.code, wrong.err.splitlines()[1]) == (2, "  Give a number from 1 to 1,000.")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["resume", "retry"])
def test_research_that_ran_out_of_turns_continues_with_more(leadhand: Any, verb: str) -> None:
    first = leadhand("research", "--offline", "--max-turns", "1", "--json", "What is a fork?")
    assert first.code == 5
    before = json.loads(first.out)
    (gap,) = before["gaps"]
    assert gap["next_action"] == "raise --max-turns (it was 1), and resume the run"

    run_id = before["run_id"]
    refused = leadhand("runs", verb, run_id)
    assert refused.code == 2
    assert f"raise --max-turns (it was 1): leadhand runs resume {run_id} --max-turns 11" in refused.err
    lower = leadhand("runs", verb, run_id, "--max-turns", "1")
    assert (lower.code, "the lead has made 1 turn already" in lower.err) == (2, True)
    wrong = leadhand("runs", verb, run_id, "--max-turns", "0")
    assert (wrong.code, wrong.err.splitlines()[1]) == (2, "  Give a number from 1 to 1,000.")

    more = leadhand("runs", verb, run_id, "--max-turns", "9", "--json")
    assert more.code == 0, more.err
    after = json.loads(more.out)
    assert (after["status"], after["gaps"]) == ("succeeded", [])
    assert [each["answer"] for each in after["earlier_answers"]] == [before["answer"]]
    assert after["usage"]["requests"] > before["usage"]["requests"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (("--budget", "0.4"), "besides what is kept for reviews and the answer"),
        (("--timeout", "5"), "the time for the work (4 of 5 s) is used up"),
    ],
)
async def test_a_limit_of_money_or_time_ends_research_with_an_answer_and_exit_code_5(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, str], reason: str
) -> None:
    async def more(request: Any) -> Any:
        if limit[0] == "--timeout":
            await asyncio.Event().wait()
        turn = sum(message.role == "assistant" for message in request.messages)
        return calls("subagent_run", **runs.task(f"size {turn}"))

    written = runs.SOUND.replace("aaaaaaaa.1", "p1").replace("bbbbbbbb.1", "p2")
    models = runs.model(lead=runs.lead(runs.both, more), writer=written)
    ask = models.ask

    async def served(request: Any, on_text: Any = None) -> Any:
        """Tell the roles by their briefs: a request over HTTP does not name them."""
        names = {"task": "subagent", "sentences": "reviewer", "findings": "writer"}
        role = next((role for name, role in names.items() if name in brief_of(request)), "lead")
        return await ask(request.evolve(role=role), on_text)

    models.ask = served
    async with ScriptedServer(served_by(models)) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_PRICE", "2/8")
        line = ("research", "--model", "openai_compatible:scripted", "--tools", runs.__file__, *limit)
        result = await asyncio.to_thread(leadhand.process, *line, runs.QUESTION)

    assert result.code == 5, result.err
    assert result.out.startswith("A heat pump in a house of 1930 needs 9 kW [1].")
    assert reason in result.out
    assert f"raise {limit[0]} (it was {limit[1]}), and" in result.out


@pytest.mark.slow
def test_the_command_that_continues_a_run_names_the_limit_to_raise_and_works_as_it_is(leadhand: Any) -> None:
    first = leadhand("research", "--offline", "--max-turns", "1", "What is a fork?")
    assert first.code == 5
    command = first.err.split("Continue with: ")[1].splitlines()[0]
    assert command.endswith(" --max-turns 11")
    assert command in leadhand("runs", "show", command.split()[3]).out
    assert leadhand("runs", "show", command.split()[3], "--json").json["proposed_limits"] == {"max_turns": 11}
    refused = leadhand(*command.split()[1:4])
    assert (refused.code, refused.err.splitlines()[1].endswith(f": {command}")) == (2, True)

    assert leadhand(*command.split()[1:]).code == 0
    again = leadhand(*command.split()[1:-1], "19")
    assert (again.code, again.err.splitlines()) == (
        2,
        [
            "leadhand: the run has succeeded, and nothing is left to do",
            f"  See its answer: leadhand runs show {command.split()[3]}",
        ],
    )


def test_a_command_that_continues_raises_every_limit_that_was_reached(leadhand: Any) -> None:
    first = leadhand("run", "--offline", "--max-requests", "1", "Weather in Paris?")
    assert first.code == 5
    assert "Continue with: leadhand runs resume run_" in first.err
    assert first.err.split("Continue with: ")[1].splitlines()[0].endswith(" --max-requests 11")
