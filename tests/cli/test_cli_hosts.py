"""``leadhand hosts``: which processes drive runs."""

from __future__ import annotations

from typing import Any

REQUEST = "Measure the noise in Rome"


def test_a_process_that_drives_a_run_is_listed_until_it_dies(leadhand: Any) -> None:
    (here,) = leadhand("hosts", "list", "--json").json
    assert (here["here"], here["runs"]) == (True, [])
    driving = leadhand.start("run", "--offline", "--tools", leadhand.tools, REQUEST)
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")
    (run,) = leadhand("runs", "list", "--json").json

    here, there = leadhand("hosts", "list", "--json").json
    assert (here["here"], here["runs"]) == (True, [])
    assert (there["host"], there["here"], there["runs"]) == (run["owner"], False, [run["run_id"]])
    assert (there["kind"], there["attempts"]) == (None, []), "an SQLite database knows no more of its processes"
    head, line = leadhand("hosts", "list").out.splitlines()
    assert head.split() == ["HOST", "RUN", "STATUS", "REQUEST"]
    assert line.split("  ") == [run["owner"], run["run_id"], "running", REQUEST]

    driving.kill()
    driving.wait(timeout=90)
    assert leadhand("hosts", "list").out == ""
    assert leadhand.listing()["orphan"] is True
