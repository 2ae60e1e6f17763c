"""Plans on the command line: shown and nothing else, or approved before work begins."""

from __future__ import annotations

from typing import Any

REQUEST = "What is the weather in Paris tomorrow?"


def test_plan_only_prints_the_plan_and_does_nothing(leadhand: Any) -> None:
    shown = leadhand("run", REQUEST, "--offline", "--plan-only")
    assert shown.code == 0
    assert "weather_tool(" in shown.out
    run_id = leadhand.listing()["run_id"]
    document = leadhand("runs", "show", run_id, "--json").json
    assert (document["status"], document["work_orders"], document["plan_only"]) == ("waiting", [], True)

    carried_out = leadhand(*shown.command("runs resume"))
    assert carried_out.code == 0
    assert "Paris" in carried_out.out


def test_a_plan_is_approved_on_the_command_line(leadhand: Any) -> None:
    waiting = leadhand("run", REQUEST, "--offline", "--approve-plan")
    assert waiting.code == 4
    assert "weather_tool(" in leadhand("approvals", "list").out
    assert leadhand("runs", "resume", leadhand.listing()["run_id"]).code == 4
    (asked,) = leadhand("approvals", "list", "--json").json
    assert (asked["kind"], asked["tool"]) == ("plan", "")
    leadhand("approvals", "approve", asked["approval_id"], "--args", '{"goal": "other"}').refused()
    approve = waiting.command("approvals approve")
    assert approve[2] == asked["approval_id"]
    assert leadhand(*approve).code == 0
    leadhand(*approve).refused()
    assert leadhand("runs", "resume", leadhand.listing()["run_id"]).code == 0


def test_a_denied_plan_ends_the_run(leadhand: Any) -> None:
    leadhand("run", REQUEST, "--offline", "--approve-plan")
    (asked,) = leadhand("approvals", "list", "--json").json
    assert leadhand("approvals", "deny", asked["approval_id"]).code == 0
    assert leadhand("runs", "resume", leadhand.listing()["run_id"]).code == 1


def test_a_run_has_instructions_and_tools_of_its_own(leadhand: Any) -> None:
    done = leadhand("run", REQUEST, "--offline", "--instructions", "Be brief.", "--only-tool", "weather_tool", "--json")
    assert (done.json["instructions"], done.json["tools"]) == ({"*": "Be brief."}, ["weather_tool"])
