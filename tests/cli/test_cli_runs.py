"""``leadhand runs``: the history of runs, and steering those that go on."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from exports.pages import Page


def detached(leadhand: Any, request: str = "Measure the noise in Paris and Rome") -> str:
    """The id of a run in the background, which waits in Rome."""
    result = leadhand("run", "--offline", "--tools", leadhand.tools, "--detach", request)
    assert result.code == 0, result.err
    return result.out.strip()


def parked(leadhand: Any) -> str:
    """The id of a parked run that is half done."""
    run_id = detached(leadhand)
    leadhand.wait(lambda: leadhand.listing()["completed"] == 1, "Paris")
    assert leadhand("runs", "pause", run_id).code == 0
    return run_id


def test_the_list_is_aligned_newest_first_and_can_be_narrowed(leadhand: Any) -> None:
    first = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]
    second = leadhand("run", "--offline", "--json", "Weather in\nRome and a poem").json["run_id"]

    head, *lines = leadhand("runs", "list").out.splitlines()
    assert head.split() == ["RUN", "STATUS", "AGE", "DONE", "REQUEST"]
    assert [line.split()[0] for line in lines] == [second, first]
    assert [line.index("Weather") for line in lines] == [head.index("REQUEST")] * 2
    assert lines[0].endswith("1/1   Weather in Rome and a poem")
    assert leadhand("runs", "list", "--status", "succeeded").out.count("\n") == 2
    assert [run["run_id"] for run in leadhand("runs", "list", "--search", "PARIS", "--json").json] == [first]
    limited = leadhand("runs", "list", "--limit", "1")
    assert limited.out.count("\n") == 2
    assert "--limit" in limited.err


def test_runs_are_named_and_listed_by_tag(leadhand: Any) -> None:
    named = ("--name", "Nightly check", "--tag", "team=data", "--tag", "env=a=b")
    first = leadhand("run", "--offline", "--json", *named, "Weather in Paris?").json
    assert (first["name"], first["tags"]) == ("Nightly check", {"team": "data", "env": "a=b"})
    leadhand("run", "--offline", "Weather in Lyon?")

    (line,) = leadhand("runs", "list", "--tag", "env=a=b").out.splitlines()[1:]
    assert line.endswith("1/1   Nightly check")
    assert "Weather in Paris?" not in line
    assert leadhand("runs", "list", "--tag", "team=other").out == ""
    shown = leadhand("runs", "show", first["run_id"]).out
    assert "\nWeather in Paris?\n" in shown
    assert all(f" {label}\n" in shown for label in ("Nightly check", "team=data, env=a=b"))

    follow_up = ("--continue", first["run_id"], "--tag", "env=c", "And in Rome?")
    second = leadhand("run", "--offline", "--json", *follow_up).json
    assert (second["name"], second["tags"]) == ("", {"team": "data", "env": "c"})


def test_a_run_is_found_by_the_beginning_of_its_id_or_its_age(leadhand: Any, similar_ids: None) -> None:
    first, second = (leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"] for _ in range(2))

    for given in (first, first.removeprefix("run_"), "abcd", first.upper(), "last~1"):
        assert leadhand("runs", "show", given, "--json").json["run_id"] == first
    for given in ([], ["last"], [second]):
        assert leadhand("runs", "show", *given, "--json").json["run_id"] == second
    leadhand("runs", "show", "abc").refused(f"{second} (Weather in Paris?), {first} (Weather in Paris?)")
    leadhand("runs", "show", "last~2").refused("'last~2'", code="no_such_run")


def test_show_prints_one_event_or_one_model_call(leadhand: Any) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]

    assert leadhand("runs", "show", run_id, "--seq", "1").json["type"] == "run_started"
    leadhand("runs", "show", run_id, "--seq", "999").refused("999")
    call = leadhand("runs", "show", run_id, "--call", "plan/t1")
    assert call.json["call_id"] == "plan/t1"
    assert "Weather in Paris?" in call.out
    assert leadhand("runs", "show", run_id, "--call", "plan/t1", "--json").json["prompt"]["max_tokens"]
    leadhand("runs", "show", run_id, "--call", "plan/t9").refused("'plan/t9'")


def test_watching_from_another_process_ends_with_the_run_and_its_code(leadhand: Any) -> None:
    run_id = detached(leadhand)
    watching = leadhand.start("runs", "watch", run_id, "--json")
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")
    leadhand.open_gate()

    out, err = watching.communicate(timeout=90)

    assert watching.returncode == 0
    assert json.loads(out)["status"] == "succeeded"
    assert leadhand.listing()["detached"] is True
    assert leadhand("runs", "show", run_id, "--seq", "1").json["definition"]["detached"] is True
    assert "measure_rome · Rome" in err
    log = (leadhand.home / "runs" / run_id / "log.txt").read_text()
    assert "Rome: 40 dB" in log
    assert leadhand("runs", "watch", run_id).code == 0


def test_a_background_run_is_parked_and_resumed_without_doing_finished_work_again(leadhand: Any) -> None:
    run_id = parked(leadhand)
    assert leadhand.listing()["status"] == "paused"
    assert leadhand("runs", "watch", run_id).code == 130
    assert leadhand("runs", "pause", run_id).code == 0

    leadhand.open_gate()
    result = leadhand("runs", "resume", run_id, "--tools", leadhand.tools, "--json")

    assert (result.code, result.json["status"]) == (0, "succeeded")
    assert leadhand.calls == {"Paris": 1, "Rome": 2}


def test_a_run_under_way_is_cancelled_by_its_owner(leadhand: Any) -> None:
    run_id = detached(leadhand)
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")

    result = leadhand("runs", "cancel", run_id)

    assert (result.code, leadhand.listing()["status"]) == (0, "cancelled")
    assert leadhand("runs", "watch", run_id).code == 1
    assert leadhand("runs", "show", run_id, "--json").json["status"] == "cancelled"
    before = leadhand.listing()
    again = leadhand("runs", "cancel", run_id)
    assert (again.code, leadhand.listing()) == (0, before)


def test_the_same_settings_are_in_the_line_that_resumes(leadhand: Any, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "some where.db")
    result = leadhand("run", "--offline", "--tools", leadhand.tools, "--database", elsewhere, "Pay 30 to Bob")

    assert f"--tools {leadhand.tools} --database '{elsewhere}'" in result.err.splitlines()[-1]


def test_lines_of_json_hold_the_whole_log(leadhand: Any, tmp_path: Path) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]
    target = tmp_path / "run.jsonl"

    printed = leadhand("runs", "export", run_id).out
    saved = leadhand("runs", "export", run_id, "--jsonl", "--output", str(target))

    assert (saved.code, saved.out) == (0, "")
    assert target.read_text() == printed
    assert printed == leadhand("runs", "watch", run_id, "--stream-json").out
    *events, last = [json.loads(line) for line in printed.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert last["document"]["last_seq"] == len(events)


@pytest.mark.parametrize("target", ["nowhere/run.html", "."])
def test_a_file_that_cannot_be_written_is_refused(leadhand: Any, tmp_path: Path, target: str) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]

    leadhand("runs", "export", run_id, "--html", "--output", str(tmp_path / target)).refused(str(tmp_path))
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_a_failed_export_leaves_the_earlier_file_as_it_was(
    leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]
    target = tmp_path / "run.md"
    target.write_text("the earlier one")

    def half(path: Path, text: str, **_more: Any) -> int:
        path.write_bytes(text[:9].encode())
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", half)
        leadhand("runs", "export", run_id, "--md", "--output", str(target)).refused(str(target))
    assert target.read_text() == "the earlier one"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
    assert leadhand("runs", "export", run_id, "--md", "--output", str(target)).code == 0
    assert "Paris" in target.read_text()
    assert leadhand("runs", "export", run_id, "--output", os.devnull).code == 0


def test_the_page_needs_nothing_else_and_escapes_everything(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text(
        "from leadhand import Source, ToolReturn, tool\n"
        "@tool\n"
        "def measure_tool(place: str) -> ToolReturn:\n"
        "    '''Measure the noise at a place.'''\n"
        "    return ToolReturn(summary='<script>alert(1)</script><img src=x onerror=alert(2)>',\n"
        "        sources=(Source(title='<b>good</b>', url='https://example.com/?a=\"b'),\n"
        "                 Source(title='bad', url='ftp://example.com/3'),\n"
        "                 Source(title='worse', url='javascript:alert(3)')))\n"
    )
    request = "Measure the noise in Paris"
    run_id = leadhand("run", "--offline", "--tools", str(tmp_path / "evil.py"), "--json", request).json["run_id"]

    page = Page(leadhand("runs", "export", run_id, "--html").out)

    page.check_harmless()
    assert page.links == ["#source-1", "#source-2", "#source-3", 'https://example.com/?a="b']
    assert "<script>alert(1)</script>" in page.text
    assert "bad (ftp://example.com/3)" in page.text
    assert "worse" in page.text
    assert "worse ()" not in page.text
    assert "javascript:" not in page.text
    for words in (request, run_id, "wo-001.0", "measure · Paris"):
        assert words in page.text
