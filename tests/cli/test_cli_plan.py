"""Plans on the command line: shown and nothing else, or approved before work begins."""

from __future__ import annotations

import json
from typing import Any

REQUEST = "What is the weather in Paris tomorrow?"


def run_id_of(leadhand: Any) -> str:
    return json.loads(leadhand("runs", "list", "--json").out)[0]["run_id"]


def test_plan_only_prints_the_plan_and_does_nothing(leadhand: Any) -> None:
    shown = leadhand("run", REQUEST, "--offline", "--plan-only")
    assert shown.code == 0
    assert shown.out.startswith("Plan: ")
    assert "1. " in shown.out
    assert "weather_tool(" in shown.out
    assert "Nothing was done. Carry the plan out with: leadhand runs resume" in shown.err
    run_id = run_id_of(leadhand)
    document = json.loads(leadhand("runs", "show", run_id, "--json").out)
    assert (document["status"], document["work_orders"], document["plan_only"]) == ("waiting", [], True)

    carried_out = leadhand("runs", "resume", run_id)
    assert carried_out.code == 0
    assert "Paris" in carried_out.out


def test_a_plan_is_approved_on_the_command_line(leadhand: Any) -> None:
    waiting = leadhand("run", REQUEST, "--offline", "--approve-plan")
    assert waiting.code == 4
    assert "the plan: leadhand approvals approve" in waiting.err
    listed = leadhand("approvals", "list")
    assert "Carry out this plan?" in listed.out
    assert "weather_tool(" in listed.out
    assert leadhand("runs", "resume", run_id_of(leadhand)).code == 4
    (asked,) = json.loads(leadhand("approvals", "list", "--json").out)
    assert (asked["kind"], asked["tool"]) == ("plan", "")
    changed = leadhand("approvals", "approve", asked["id"], "--args", '{"goal": "other"}')
    assert (changed.code, "a plan cannot be changed" in changed.err) == (2, True)
    approved = leadhand("approvals", "approve", asked["id"])
    assert (approved.code, "Approved the plan." in approved.err) == (0, True)
    assert leadhand("approvals", "approve", asked["id"]).code == 2
    assert leadhand("runs", "resume", run_id_of(leadhand)).code == 0


def test_a_denied_plan_ends_the_run(leadhand: Any) -> None:
    leadhand("run", REQUEST, "--offline", "--approve-plan")
    (asked,) = json.loads(leadhand("approvals", "list", "--json").out)
    assert "Denied the plan." in leadhand("approvals", "deny", asked["id"]).err
    assert leadhand("runs", "resume", run_id_of(leadhand)).code == 1


def test_research_has_no_plan_to_approve(leadhand: Any) -> None:
    refused = leadhand("research", "Why is the sky blue?", "--offline", "--approve-plan")
    assert refused.code == 2
    assert "makes no plan before it begins" in refused.err


def test_a_run_has_instructions_and_tools_of_its_own(leadhand: Any) -> None:
    done = leadhand("run", REQUEST, "--offline", "--instructions", "Be brief.", "--only-tool", "weather_tool", "--json")
    document = json.loads(done.out)
    assert (document["instructions"], document["tools"]) == ({"*": "Be brief."}, ["weather_tool"])
    refused = leadhand("run", REQUEST, "--offline", "--only-tool", "wether_tool")
    assert (refused.code, "Did you mean weather_tool" in refused.err) == (2, True)
