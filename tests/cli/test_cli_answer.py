"""``leadhand answer``: a run with a question waits for a person, and continues with the answer in any process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from cli.serving import SCRIPTED, serving
from cli.terminals import Terminal, rest_of
from cli.test_cli_serve import Server

from leadhand.ports.models import ModelRequest
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, gives, plans, subtask

QUESTION = "Which city do you mean?"
PROMPT = "your answer, or later:"
ASK = ("run", "--model", SCRIPTED, "How loud is it there?")


def plan(request: ModelRequest) -> Step:
    """Ask which city is meant, and measure there."""
    answers = brief_of(request).get("answered", [])
    if not answers:
        return gives({"question": QUESTION})
    assert [each["question"] for each in answers] == [QUESTION]
    return plans(subtask("measure", "measure_tool", place=answers[0]["answer"]))


@pytest.fixture
def server(leadhand: Any, power: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    power.at("Lyon")
    with serving(ScriptedModel(plan=plan, lenient=True), monkeypatch) as server:
        yield server


@pytest.fixture
def waiting(leadhand: Any, power: Any, server: ScriptedServer) -> Any:
    """What the command wrote whose run asks the question."""
    return leadhand(*ASK, "--tools", power.tools)


def test_a_question_without_a_terminal_ends_with_4_and_names_the_command_that_answers_it(
    leadhand: Any, waiting: Any
) -> None:
    run_id = leadhand.listing()["run_id"]
    assert (waiting.code, waiting.out) == (4, "")
    assert QUESTION in waiting.err
    assert waiting.command("answer")[:3] == ["answer", run_id, "TEXT"]

    shown = leadhand("runs", "show", run_id)
    assert QUESTION in shown.out
    assert shown.command("answer") == waiting.command("answer")
    for format in ("--md", "--html"):
        assert QUESTION in leadhand("runs", "export", run_id, format).out
    document = leadhand("runs", "show", run_id, "--json").json
    assert (document["status"], document["question"]["text"], document["answer"]) == ("waiting", QUESTION, None)
    (action,) = document["outcome"]["actions"]
    assert (action["action"], action["primary"]) == ("answer", True)
    assert action["args"] == {"question_id": document["question"]["id"]}
    listing = leadhand.listing()
    assert (listing["status"], listing["asking"]) == ("waiting", 1)


def test_the_answer_continues_the_run_and_prints_its_answer(
    leadhand: Any, waiting: Any, server: ScriptedServer
) -> None:
    command = waiting.command("answer")
    command[2] = "Lyon"
    asked = len(server.requests)

    answered = leadhand(*command)

    assert (answered.code, "Lyon: 40 dB" in answered.out) == (0, True)
    assert leadhand.calls == {"Lyon": 1}
    assert [each.worker for each in server.requests[asked:]] == ["plan", "review"], "nothing is asked twice"
    assert leadhand.listing()["asking"] == 0
    leadhand(*command).refused(leadhand.listing()["run_id"], "--continue")


def test_an_answer_that_cannot_count_is_refused_and_changes_nothing(leadhand: Any, power: Any, waiting: Any) -> None:
    run_id = leadhand.listing()["run_id"]
    before = leadhand("runs", "show", run_id, "--json").json["last_seq"]

    leadhand("answer", run_id, " ").refused()
    leadhand("answer", run_id, "x" * 10_001).refused("10,000")
    leadhand("answer", "run_none", "Lyon").refused("run_none", code="no_such_run")
    leadhand("answer", run_id, "Lyon").refused("measure_tool", "--tools", code="configuration")
    assert leadhand("runs", "show", run_id, "--json").json["last_seq"] == before

    assert leadhand("run", "--offline", "--tools", power.tools, "Pay 30 to Bob").code == 4
    leadhand("answer", leadhand.listing()["run_id"], "Lyon").refused("leadhand runs show")
    assert leadhand("runs", "cancel", run_id).code == 0
    leadhand("answer", run_id, "Lyon").refused("cancelled", "--continue")


def test_a_terminal_prompts_for_the_answer_and_later_leaves_the_question_open(
    leadhand: Any, power: Any, server: ScriptedServer, terminal: Terminal
) -> None:
    child = terminal(*ASK, "--tools", power.tools, columns=300)
    child.expect(PROMPT)
    child.sendline("later")
    assert "leadhand answer" in rest_of(child)
    assert (child.exitstatus, leadhand.listing()["status"]) == (4, "waiting")

    child = terminal(*ASK, "--tools", power.tools)
    child.expect(PROMPT)
    child.sendline("")
    child.expect(PROMPT)
    child.sendline("Lyon")

    assert "Lyon: 40 dB" in rest_of(child)
    assert child.exitstatus == 0


def test_a_process_that_is_killed_while_it_waits_for_the_answer_loses_nothing(
    leadhand: Any, power: Any, server: ScriptedServer, terminal: Terminal
) -> None:
    child = terminal(*ASK, "--tools", power.tools)
    child.expect(PROMPT)
    child.kill(signal.SIGKILL)
    leadhand.wait(lambda: not child.isalive(), "the end")
    run_id = leadhand.listing()["run_id"]
    assert leadhand("runs", "show", run_id, "--json").json["question"]["text"] == QUESTION

    answered = leadhand.process("answer", run_id, "Lyon", "--tools", power.tools)

    assert (answered.code, "Lyon: 40 dB" in answered.out) == (0, True)
    assert [each.worker for each in server.requests] == ["plan", "plan", "review"]


def test_an_answer_outlives_the_process_that_heard_it(
    leadhand: Any, power: Any, waiting: Any, server: ScriptedServer
) -> None:
    run_id = leadhand.listing()["run_id"]
    driving = leadhand.start("answer", run_id, "Rome", "--tools", power.tools)
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call")
    driving.kill()
    driving.wait(90)
    power.at("Rome")
    leadhand.open_gate()

    resumed = leadhand("runs", "resume", run_id, "--tools", power.tools)

    assert (resumed.code, "Rome: 40 dB" in resumed.out) == (0, True)
    assert leadhand.calls == {"Rome": 2}, "the call that the kill cut off is made again"
    assert [each.worker for each in server.requests] == ["plan", "plan", "review"], "the question is not asked again"


def test_a_server_that_is_killed_while_a_run_asks_continues_it_after_the_answer(
    leadhand: Any, power: Any, server: ScriptedServer
) -> None:
    given = ("--model", SCRIPTED, "--tools", power.tools)
    first = Server(leadhand, *given)
    run = first.ask("/api/runs?wait=60", {"request": ASK[-1]})
    assert run["question"]["text"] == QUESTION
    first.end(signal.SIGKILL)

    second = Server(leadhand, *given)
    assert second.ask(f"/api/runs/{run['run_id']}/answer", {"text": "Lyon"})["run_id"] == run["run_id"]
    over = second.ask(f"/api/runs/{run['run_id']}?wait=60")
    second.end()

    assert (over["status"], over["answer"]) == ("succeeded", "Lyon: 40 dB")
    assert [each.worker for each in server.requests] == ["plan", "plan", "review"]
