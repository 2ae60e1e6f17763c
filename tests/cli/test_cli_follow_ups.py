"""Follow-ups from the command line: with what the earlier run had, where no flag says otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli.power import Power

from leadhand.cli.commands.run import run
from leadhand.cli.parser import Call, parse


def document(leadhand: Any, run_id: str) -> dict[str, Any]:
    return json.loads(leadhand("runs", "show", run_id, "--json").out)


def test_a_follow_up_keeps_what_no_flag_changes(leadhand: Any, power: Power) -> None:
    power.at("Lyon", "Metz")
    asked = ("--offline", "--max-workers", "5", "--timeout", "90", "--tools", power.tools)
    assert leadhand("run", *asked, "Measure the noise in Lyon").code == 0
    first = leadhand.listing()["run_id"]

    lacking = leadhand("run", "--continue", first, "Measure the noise in Metz")
    assert (lacking.code, lacking.out) == (6, "")
    assert "the run needs the tool" in lacking.err
    result = leadhand(
        "run", "--continue", first[:20], "--timeout", "60", "--tools", power.tools, "Measure the noise in Metz"
    )

    assert result.code == 0
    assert "Metz" in result.out
    second = leadhand.listing()["run_id"]
    assert f"follows  {first}\n" in result.err
    assert "model    offline (as in the run that it follows up)\n" in result.err
    kept = document(leadhand, second)
    assert (kept["offline"], kept["limits"]["max_workers"], kept["limits"]["timeout_s"]) == (True, 5, 60)
    assert kept["follows"] == {"run_id": first, "request": "Measure the noise in Lyon"}
    assert document(leadhand, first)["followed_by"] == [second]
    assert f"follows  {first}: Measure the noise in Lyon\n" in leadhand("runs", "show", second).out
    assert f"followed by {second}: Measure the noise in Metz\n" in leadhand("runs", "show", first).out
    assert '"followed_by":["' in leadhand("runs", "export", first, "--json").out.replace(": ", ":")


def test_a_run_that_has_not_ended_is_not_followed_up(leadhand: Any, power: Power) -> None:
    waiting = leadhand("run", "--offline", "--tools", power.tools, "Pay 30 to Bob")
    assert waiting.code == 4
    first = leadhand.listing()["run_id"]
    early = leadhand("run", "--continue", first, "--tools", power.tools, "Pay 30 to Ann")
    assert (early.code, early.out) == (2, "")
    assert early.err == (
        f"leadhand: run {first} has not ended (waiting), so it cannot be followed up\n"
        f"  Resume it first: leadhand runs resume {first}\n"
    )
    missing = leadhand("run", "--continue", "run_zz", "Pay 30 to Ann")
    assert (missing.code, missing.err.splitlines()[0]) == (2, "leadhand: no run matches 'run_zz'")


@pytest.mark.slow
def test_a_follow_up_may_have_another_flow_and_keeps_stages(leadhand: Any) -> None:
    report = leadhand("report", "--offline", "--stage", "writer.max_requests=7", "How to brew coffee")
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
    assert call.flags["limits"].given == {"budget": 1.0}
