"""``leadhand approvals``: what runs ask is seen and answered from anywhere, bound to what was shown, and once."""

from __future__ import annotations

import re
from typing import Any

import pytest

PAY = "Pay 30 to Bob"
PAY_AND_MEASURE = "Pay 30 to Bob and measure the noise in Rome"


def waiting(leadhand: Any, *more: str, request: str = PAY) -> Any:
    """A run that waits for an answer; its question."""
    result = leadhand("run", "--offline", "--approve", "ask", "--tools", leadhand.tools, *more, request)
    assert result.code == 4
    return leadhand("approvals", "list", "--json").json[0]


def test_a_run_without_a_terminal_is_answered_from_another_process_and_goes_on(leadhand: Any) -> None:
    started = leadhand.process("run", "--offline", "--approve", "ask", "--tools", leadhand.tools, PAY)
    assert (started.code, started.out) == (4, "")

    answered = leadhand.process(*started.command("approvals approve"))
    assert (answered.code, answered.out) == (0, "")
    assert "pay_tool" in answered.err
    assert not leadhand.calls, "answering is not calling"

    resumed = leadhand.process(*answered.command("runs resume"))
    assert resumed.code == 0
    assert "paid 30 to Bob" in resumed.out
    assert leadhand.calls == {"paid Bob": 1}
    assert leadhand("approvals", "list").out == ""


def test_the_process_that_drives_the_run_goes_on_when_another_one_answers(leadhand: Any) -> None:
    driving = leadhand.start("run", "--offline", "--tools", leadhand.tools, "--json", PAY_AND_MEASURE)
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")
    leadhand.wait(lambda: leadhand("approvals", "list", "--json").json, "the question")
    (asked,) = leadhand("approvals", "list", "--json").json
    answered = leadhand.process("approvals", "approve", asked["approval_id"])
    assert answered.code == 0
    assert answered.command("runs watch") == ["runs", "watch", asked["run_id"]]
    leadhand.wait(lambda: leadhand.calls["paid Bob"], "the call")
    leadhand.open_gate()
    out, _ = driving.communicate(timeout=90)

    assert driving.returncode == 0
    assert "paid 30 to Bob" in out
    assert leadhand.calls == {"paid Bob": 1, "Rome": 1}


def test_the_list_shows_all_that_is_known_of_a_call(leadhand: Any) -> None:
    asked = waiting(leadhand, "--approval-timeout", "3600")

    listed = leadhand("approvals", "list")

    head, *lines = listed.out.splitlines()
    assert head.startswith(asked["approval_id"])
    for known in ("amount = 30", 'to = "Bob"', "once", "wo-001.0", asked["run_id"], PAY):
        assert [line for line in lines if known in line], known
    assert re.search(r"expires.* (1 h|59 min)", listed.out)
    page = leadhand("runs", "show", asked["run_id"])
    assert page.command("approvals approve") == ["approvals", "approve", asked["approval_id"]]
    settled = leadhand("approvals", "settle", asked["approval_id"], "--happened")
    settled.refused(f"approvals approve {asked['approval_id']}", "deny")


def test_the_newest_question_comes_first_and_the_beginning_of_one_id_names_it(leadhand: Any, similar_ids: None) -> None:
    first, second = waiting(leadhand), waiting(leadhand)
    assert leadhand("approvals", "list", "--json").json == [second, first]

    leadhand("approvals", "approve", first["run_id"][:7]).refused(first["approval_id"], second["approval_id"])
    length = next(n for n in range(1, 9) if first["approval_id"][:n] != second["approval_id"][:n])
    assert leadhand("approvals", "deny", first["approval_id"][:length].upper()).code == 0
    assert leadhand("approvals", "approve", second["run_id"]).code == 0


def test_a_no_is_told_with_its_reason_and_is_final(leadhand: Any) -> None:
    asked = waiting(leadhand)

    answered = leadhand("approvals", "deny", asked["approval_id"], "--reason", "too dear")
    for command in ("approve", "deny"):
        leadhand("approvals", command, asked["approval_id"]).refused(asked["approval_id"])
    resumed = leadhand(*answered.command("runs resume"))

    assert resumed.code == 1
    assert "too dear" in resumed.err
    assert not leadhand.calls


def test_a_yes_to_other_arguments_is_checked_and_made_with_those(leadhand: Any) -> None:
    asked = waiting(leadhand)
    for args, fault in (
        ('{"amount": "much", "to": "Bob"}', ("amount", '"much"', '"number"')),
        ('{"amount": 3}', ('"to"',)),
        ("[3]", ("JSON",)),
        ('{"amount": NaN, "to": "Bob"}', ("JSON",)),
        ('{"amount": 3, "to": "\\ud800"}', ("UTF-8",)),
    ):
        leadhand("approvals", "approve", asked["approval_id"], "--args", args).refused(*fault)

    answered = leadhand("approvals", "approve", asked["approval_id"], "--args", '{"amount": 20, "to": "Ann"}')
    resumed = leadhand(*answered.command("runs resume"))

    assert "paid 20 to Ann" in resumed.out
    assert leadhand.calls == {"paid Ann": 1}


def test_one_yes_may_hold_for_the_whole_run(leadhand: Any) -> None:
    asked = waiting(leadhand, request="Pay 30 to Bob and pay 20 to Ann")
    assert len(leadhand("approvals", "list", "--json").json) == 2

    answered = leadhand("approvals", "approve", asked["approval_id"], "--always")

    assert leadhand("approvals", "list", "--json").json == []
    assert leadhand(*answered.command("runs resume")).code == 0
    assert leadhand.calls == {"paid Bob": 1, "paid Ann": 1}


def test_silence_is_a_no_when_the_time_is_up(leadhand: Any) -> None:
    started = leadhand("run", "--offline", "--tools", leadhand.tools, "--approval-timeout", "0.2", PAY)
    assert started.code == 4
    leadhand.wait(lambda: not leadhand("approvals", "list", "--json").json, "the time")

    leadhand(*started.command("approvals approve")).refused()

    resume = leadhand("approvals", "list").command("runs resume")
    assert "--tools" in resume, "those the run was started with"
    assert leadhand(*resume).code == 1
    assert not leadhand.calls


@pytest.mark.parametrize(
    ("rules", "code", "calls"),
    [
        (["auto"], 0, {"paid Bob": 1}),
        (["ask", "tool:pay_*=auto"], 0, {"paid Bob": 1}),
        (["auto", "effect:once=ask"], 4, {}),
        (["tool:pay_tool=never", "effect:once=auto"], 1, {}),
        (["never", "origin:*noise_tools*=auto"], 0, {"paid Bob": 1}),
    ],
)
def test_rules_say_otherwise_for_some_calls(leadhand: Any, rules: list[str], code: int, calls: dict[str, int]) -> None:
    flags = [word for rule in rules for word in ("--approve", rule)]

    result = leadhand("run", "--offline", "--tools", leadhand.tools, *flags, PAY)

    assert (result.code, leadhand.calls) == (code, calls)


@pytest.fixture
def doubtful(leadhand: Any, slow_tools: str) -> Any:
    """A run whose process was killed in the middle of a call with effect once, resumed: its question."""
    process = leadhand.start("run", "--offline", "--tools", slow_tools, PAY)
    leadhand.wait(lambda: leadhand.calls["sent Bob"], "the call")
    process.kill()
    process.wait(timeout=90)
    run_id = leadhand.listing()["run_id"]
    resumed = leadhand("runs", "resume", run_id, "--tools", slow_tools)
    assert resumed.code == 4
    (asked,) = leadhand("approvals", "list", "--json").json
    assert resumed.command("approvals settle")[2:4] == [asked["approval_id"], "--happened"]
    return asked


def test_a_call_whose_end_nobody_saw_is_asked_about_and_its_result_given(leadhand: Any, doubtful: Any) -> None:
    listed = leadhand("approvals", "list")
    assert doubtful["approval_id"] in listed.out
    assert listed.command("approvals settle")[2:4] == ["ID", "--happened,"]
    for command in ("approve", "deny"):
        leadhand("approvals", command, doubtful["approval_id"]).refused(
            f"approvals settle {doubtful['approval_id']}", "--did-not"
        )
    leadhand("approvals", "settle", doubtful["approval_id"], "--did-not", "--summary", "x").refused()

    flags = ["--happened", "--summary", "It is on the account.", "--result", '{"receipt": 7}']
    settled = leadhand("approvals", "settle", doubtful["approval_id"], *flags)
    resumed = leadhand(*settled.command("runs resume"))

    assert resumed.code == 0
    assert "It is on the account." in resumed.out
    assert leadhand.calls == {"sent Bob": 1}


def test_a_call_that_did_not_happen_is_made_again(leadhand: Any, doubtful: Any) -> None:
    settled = leadhand("approvals", "settle", doubtful["approval_id"], "--did-not")
    leadhand.open_gate()
    resumed = leadhand(*settled.command("runs resume"))

    assert resumed.code == 0
    assert "sent 30 to Bob" in resumed.out
    assert leadhand.calls == {"sent Bob": 2}


def test_an_answer_to_one_of_several_asks_nobody_to_resume_and_a_cancel_ends_the_others(
    leadhand: Any,
) -> None:
    asked = waiting(leadhand, request="Pay 30 to Bob and pay 20 to Ann")
    answered = leadhand("approvals", "approve", asked["approval_id"])
    assert asked["run_id"] in answered.err
    assert answered.command("runs show") == ["runs", "show", leadhand.listing()["run_id"]]
    assert "runs resume" not in answered.err
    (left,) = leadhand("approvals", "list", "--json").json
    assert leadhand("runs", "cancel", asked["run_id"]).code == 0
    assert leadhand("approvals", "list").out == ""
    leadhand("approvals", "approve", left["approval_id"]).refused()


def test_a_run_is_resumed_with_the_tools_that_it_still_needs(leadhand: Any, slow_tools: str) -> None:
    """What was measured is finished, so a process with nothing but a tool that pays will do."""
    asked = waiting(leadhand, request="Pay 30 to Bob and measure the noise in Lyon")
    leadhand.open_gate()
    assert leadhand("approvals", "approve", asked["approval_id"]).code == 0
    leadhand("runs", "resume", asked["run_id"]).refused("pay_tool", code="configuration")
    assert leadhand("runs", "resume", asked["run_id"], "--tools", slow_tools).code == 0
    assert leadhand.calls == {"Lyon": 1, "sent Bob": 1}
