"""Commands on a database with a damaged run: others work as before, and it can be listed, exported and cancelled."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest


def damage(home: Path, run_id: str, seq: int) -> None:
    with sqlite3.connect(home / "leadhand.db") as database:
        database.execute("UPDATE events SET body = 'garbage' WHERE run_id = ? AND seq = ?", (run_id, seq))


def waiting(leadhand: Any, who: str) -> str:
    """The id of a run that waits for an approval."""
    result = leadhand("run", "--offline", "--tools", leadhand.tools, "--json", f"Pay 20 to {who}")
    assert result.code == 4, result.err
    return result.json["run_id"]


@pytest.mark.parametrize("seq", [1, 3])
def test_a_damaged_run_is_exported_as_far_as_it_goes_and_cancelled_and_hides_no_other(leadhand: Any, seq: int) -> None:
    bad, good = waiting(leadhand, "Bob"), waiting(leadhand, "Ann")
    damage(leadhand.home, bad, seq)

    listed = leadhand("approvals", "list", "--json")
    assert [each["run_id"] for each in listed.json] == [good]
    assert f"event {seq} of run {bad}" in listed.err
    shown = leadhand("runs", "show", bad)
    shown.refused(f"leadhand runs export {bad}", code="unreadable_run")
    assert (shown.error.run_id, shown.error.seq) == (bad, seq)
    assert {each["run_id"] for each in leadhand("runs", "list", "--json").json} == {bad, good}

    exported = leadhand("runs", "export", bad)
    assert exported.code == 6
    assert f"event {seq} of run {bad}" in exported.err
    *lines, last = [json.loads(line) for line in exported.out.splitlines()]
    assert [line["seq"] for line in lines if line["type"] != "run"] == list(range(1, seq))
    assert (last["type"], last["seq"]) == ("unreadable", seq)

    assert leadhand("runs", "cancel", bad).code == 0
    assert {each["run_id"]: each["status"] for each in leadhand("runs", "list", "--json").json}[bad] == "cancelled"
    assert bad not in leadhand("approvals", "list").err
    assert leadhand("approvals", "approve", good).code == 0
