"""Questions on a terminal: the whole call is shown, nothing hides in it, and every answer is there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from cli.terminals import ESCAPES, MENU, Terminal, rest_of

from leadhand.app.steering.approvals import OpenApproval
from leadhand.cli.terminal.approval_card import card
from leadhand.cli.terminal.prompt import WENT_THROUGH
from leadhand.core.approval import Approval
from leadhand.core.tool import Effect

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_arguments_are_edited_checked_and_shown_before_the_yes(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Pay 30 to Bob")
    child.expect(MENU)
    child.sendline("perhaps")
    for typed, told in (
        ('{"amount": 20', "JSON"),
        ('{"amount": 20}', '"to"'),
        ("[20]", "JSON"),
        ('{"amount": 20, "to": "Bob"}', "amount = 20"),
    ):
        child.expect(MENU)
        child.sendline("edit")
        child.expect("JSON.*: ")
        child.sendline(typed)
        child.expect(told)
    child.expect(MENU)
    child.sendline("yes")

    assert "paid 20 to Bob" in rest_of(child)
    assert child.exitstatus == 0
    assert leadhand.calls == {"paid Bob": 1}


def test_one_yes_for_all_calls_of_a_tool(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Pay 30 to Bob and pay 20 to Ann")
    child.expect(MENU)
    child.sendline("always")

    rest_of(child)
    assert child.exitstatus == 0
    assert leadhand.calls == {"paid Bob": 1, "paid Ann": 1}


def test_an_answer_from_elsewhere_comes_first(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Pay 30 to Bob")
    child.expect(MENU)
    (asked,) = leadhand("approvals", "list", "--json").json
    assert leadhand("approvals", "deny", asked["approval_id"], "--reason", "not today").code == 0
    child.sendline("yes")

    written = rest_of(child)
    assert asked["approval_id"] in written
    assert "not today" in written
    assert not leadhand.calls


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "answer", "calls"),
    [
        (["yes"], "pay_tool", 1),
        (["no"], "sent 30 to Bob", 2),
        (["result", "it is on the account"], "it is on the account", 1),
        (["result", "", "result", '{"receipt": 7}'], "pay_tool", 1),
    ],
)
def test_what_became_of_a_call_is_told_on_the_terminal(
    leadhand: Any, terminal: Terminal, slow_tools: str, typed: list[str], answer: str, calls: int
) -> None:
    process = leadhand.start("run", "--offline", "--tools", slow_tools, "Pay 30 to Bob")
    leadhand.wait(lambda: leadhand.calls["sent Bob"], "the call")
    process.kill()
    process.wait(timeout=90)
    leadhand.open_gate()

    child = terminal("runs", "resume", leadhand.listing()["run_id"], "--tools", slow_tools)
    for word in typed:
        child.expect(r"JSON.*: " if word not in ("yes", "no", "result") else re.escape(WENT_THROUGH))
        child.sendline(word)

    assert answer in rest_of(child)
    assert child.exitstatus == 0
    assert leadhand.calls == {"sent Bob": calls}


def test_sixty_columns_and_no_colour(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Pay 30 to Bob", columns=60, NO_COLOR="1")
    child.expect(MENU)
    shown = child.before.partition("pay_tool?")[2]
    child.sendline("later")
    written = rest_of(child)

    assert max(len(line) for line in shown.splitlines()) <= 60
    assert not ESCAPES.search(shown)
    assert child.exitstatus == 4
    listed = ESCAPES.sub("", rest_of(terminal("approvals", "list", columns=60, NO_COLOR="1")))
    assert max(len(line) for line in listed.partition("Answer with")[0].splitlines()) <= 60
    assert "leadhand approvals approve" in written


# --- the card --------------------------------------------------------------------------------------------------------


def question(**more: Any) -> OpenApproval:
    approval = Approval(
        **{
            "approval_id": "wo-001.0/t0/c0",
            "attempt": "wo-001.0/a1",
            "tool": "mail",
            "called": "mail",
            "args": {"to": "Ann"},
            "effect": Effect.ONCE,
            **more,
        }
    )
    return OpenApproval(run_id="run_1", request="write to Ann", asked_at=NOON, approval=approval)


def test_a_card_says_where_the_call_goes_and_hides_nothing_that_its_source_says() -> None:
    shown = card(question(target="POST https://example.org/mail", summary="Send\u202e mail"), NOON, width=None)

    assert shown[:2] == ["  calls   POST https://example.org/mail", r"  about   Send\u202e mail"]


def test_nothing_hides_in_an_argument() -> None:
    args = {"to": "ann\u202etxt.exe", "body\u200b": "\x1b[2Kone\ntwo\x9b1m"}
    shown = card(question(args=args), NOON, width=None)

    assert shown[0] == r'  to = "ann\u202etxt.exe"'
    assert shown[1] == r'  body\u200b = "\u001b[2Kone\ntwo\x9b1m"'


def test_long_arguments_are_shown_whole_as_far_as_a_person_reads() -> None:
    words = " ".join(f"word{n}" for n in range(200))
    shown = card(question(args={"body": words}), NOON, width=60)
    told = " ".join(line.strip() for line in shown[: shown.index(next(x for x in shown if "effect" in x))])
    assert told == f'body = "{words}"'
    assert max(map(len, shown)) <= 60

    (line,) = [line for line in card(question(args={"body": "x" * 9_000}), NOON, width=None) if "body" in line]
    assert "9,002" in line
    assert "approvals list --json" in line


def test_the_reason_of_a_hook_is_shown_and_hides_nothing() -> None:
    shown = card(question(hook="limits:AskAbove", hook_reason="more than\u202e 10"), NOON, width=None)
    (line,) = [line for line in shown if "limits:AskAbove" in line]
    assert line.endswith(r"more than\u202e 10")
    assert not [line for line in card(question(hook="limits:cap"), NOON, width=None) if "limits" in line]


def test_another_call_is_another_question() -> None:
    assert question().id == question().id
    assert len({question().id, question(args={"to": "Bob"}).id, question(attempt="wo-001.0/a2").id}) == 3
