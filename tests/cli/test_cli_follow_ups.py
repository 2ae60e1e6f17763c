"""Follow-ups from the command line: with what the earlier run had, where no flag says otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli.power import Power

from leadhand.cli.commands.run import run
from leadhand.cli.parser import Call, parse

LYON, METZ = "Measure the noise in Lyon", "Measure the noise in Metz"


def document(leadhand: Any, run_id: str) -> dict[str, Any]:
    return json.loads(leadhand("runs", "show", run_id, "--json").out)


def test_a_follow_up_keeps_what_no_flag_changes(leadhand: Any, power: Power) -> None:
    power.at("Lyon", "Metz")
    asked = ("--offline", "--max-workers", "5", "--timeout", "90", "--tools", power.tools)
    assert leadhand("run", *asked, LYON).code == 0
    first = leadhand.listing()["run_id"]

    leadhand("run", "--continue", first, METZ).refused("measure_tool", code="configuration")
    result = leadhand("run", "--continue", first[:20], "--timeout", "60", "--tools", power.tools, METZ)

    assert result.code == 0
    assert "Metz" in result.out
    second = leadhand.listing()["run_id"]
    assert first in result.err
    kept = document(leadhand, second)
    assert (kept["offline"], kept["limits"]["max_workers"], kept["limits"]["timeout"]) == (True, 5, 60)
    assert kept["follows"] == {"run_id": first, "request": LYON}
    assert document(leadhand, first)["followed_by"] == [second]
    assert f" {first}: {LYON}\n" in leadhand("runs", "show", second).out
    assert f" {second}: {METZ}\n" in leadhand("runs", "show", first).out
    assert leadhand("runs", "export", first, "--json").json["followed_by"] == [second]


def test_a_run_that_has_not_ended_is_not_followed_up(leadhand: Any, power: Power) -> None:
    waiting = leadhand("run", "--offline", "--tools", power.tools, "Pay 30 to Bob")
    assert waiting.code == 4
    first = leadhand.listing()["run_id"]
    early = leadhand("run", "--continue", first, "--tools", power.tools, "Pay 30 to Ann")
    early.refused("waiting", f"leadhand runs resume {first}")
    assert early.command("runs resume")[3:] == ["--tools", power.tools]


def test_what_an_error_says_to_do_with_a_run_names_the_files_and_the_store_that_it_needs(
    leadhand: Any, power: Power
) -> None:
    power.at("Lyon")
    elsewhere = ("--home", str(leadhand.folder / "elsewhere"))
    assert leadhand("run", "--offline", "--max-requests", "1", "--tools", power.tools, *elsewhere, LYON).code == 5
    run_id = json.loads(leadhand("runs", "list", "--json", *elsewhere).out)[0]["run_id"]

    followed = leadhand("answer", run_id, "Lyon", *elsewhere)
    followed.refused()
    assert followed.command("run --continue")[2:] == [run_id, "REQUEST", "--tools", power.tools, *elsewhere]
    resumed = leadhand("runs", "resume", run_id, "--tools", power.tools, *elsewhere)
    resumed.refused()
    assert leadhand(*resumed.command("runs resume")).code == 0


@pytest.mark.slow
def test_a_follow_up_may_have_another_flow_and_keeps_stages(leadhand: Any) -> None:
    report = leadhand("report", "--offline", "--stage", "writer.instructions=Write briefly.", "How to brew coffee")
    first = leadhand.listing()["run_id"]
    assert report.code in (0, 3), report.err
    again = leadhand("run", "--continue", first, "--option", "max_revisions=0", "Caffeine in coffee")
    assert again.code in (0, 3), again.err
    assert leadhand.listing()["flow"] == "report"
    other = leadhand("run", "--continue", first, "--flow", "work-order", "What is the weather in Paris?")
    assert other.code == 0
    assert leadhand.listing()["flow"] == "work-order"


def test_flags_know_what_the_command_line_gives() -> None:
    call = parse(["run", "x", "--continue", "run_1", "--budget", "1", "--allow-unknown-price"])
    assert isinstance(call, Call)
    assert call.function is run
    assert call.flags["job"].continue_ == "run_1"
    assert call.flags["limits"].given == {"budget": 1.0, "allow_unknown_price": True}
