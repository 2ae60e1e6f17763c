"""Exit codes, and how things are put into words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from core.histories import definition

from leadhand.app.export.formatting import age, clean, duration, label, money, sentence, shortened, spent
from leadhand.cli.dispatch import exit_code
from leadhand.cli.options import StoreFlags
from leadhand.cli.terminal.messages import lasted, resume_command
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.run import Gap, ModelChoice, RunDefinition, RunStatus
from leadhand.core.state import RunState

S = RunStatus


def failure(class_: str, type_: str = "x") -> Failure:
    return Failure.of("", type_, FailureClass(class_))


def gaps(*classes: str) -> list[Gap]:
    given: dict[str, Any] = {"name": "x", "reason": "", "next_action": ""}
    return [Gap.model_validate({**given, "class": class_}) for class_ in classes]


@pytest.mark.parametrize(
    ("status", "why", "missing", "code"),
    [
        (S.SUCCEEDED, None, [], 0),
        (S.FAILED, None, [], 1),
        (S.FAILED, None, gaps("unavailable"), 1),
        (S.CANCELLED, None, gaps("exhausted"), 1),
        (S.PARTIAL, None, gaps("transient"), 3),
        (S.WAITING, None, [], 4),
        (S.PARTIAL, None, gaps("transient", "exhausted"), 5),
        (S.PARTIAL, failure("exhausted", "time"), gaps("insufficient"), 5),
        (S.FAILED, None, gaps("exhausted"), 5),
        (S.FAILED, failure("exhausted", "allowance"), [], 5),
        (S.FAILED, failure("unavailable", "bad_key"), [], 6),
        (S.FAILED, failure("unavailable", "unknown_model"), [], 6),
        (S.FAILED, failure("unavailable", "not_an_api"), [], 6),
        (S.FAILED, failure("unavailable", "quota"), [], 6),
        (S.FAILED, failure("unavailable", "bad_key"), gaps("exhausted"), 6),
        (S.FAILED, failure("unavailable", "unknown_tool"), [], 1),
        (S.FAILED, failure("transient", "timeout"), gaps("exhausted"), 1),
        (S.PARTIAL, failure("unavailable", "bad_key"), gaps("transient"), 3),
        (S.PAUSED, None, [], 130),
        (S.RUNNING, None, [], 1),
    ],
)
def test_every_end_has_its_exit_code(status: RunStatus, why: Failure | None, missing: list[Gap], code: int) -> None:
    assert exit_code(status, why, missing) == code


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (-1, "0.0 s"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("usd", "words"),
    [(None, "cost unknown"), (0, "$0"), (0.0042, "$0.0042"), (0.05, "$0.05"), (1.5, "$1.50"), (1e-9, "$0.000000001")],
)
def test_money(usd: float | None, words: str) -> None:
    assert money(usd) == words


def test_spending() -> None:
    assert not re.search(r"\d", spent(0, 0, 0.0))
    assert re.findall(r"[\d,$]*\d", spent(1, 0, 0.0)) == ["1", "$0"]
    assert re.findall(r"[\d,$]*\d", spent(3, 3_412, None)) == ["3", "3,412"]


def test_ages() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    ages = [age(now - timedelta(seconds=seconds), now) for seconds in (5, 61, 7_300, 200_000)]
    assert ages == ["5 s", "1 min", "2 h", "2 d"]


@pytest.mark.parametrize(
    ("name", "args", "named"),
    [
        ("check_weather", {"location": "Paris", "days": 2}, "check_weather · Paris, 2"),
        ("route", {"origin": {"$result": {"subtask": "wo-001.0", "path": "/raw"}}}, "route · from wo-001.0"),
        ("plan", {"dry": True, "notes": None, "stops": ["Rome", "Oslo"]}, "plan · yes, Rome, Oslo"),
    ],
)
def test_a_subtask_is_named_with_its_arguments(name: str, args: dict[str, Any], named: str) -> None:
    assert label(name, args) == named
    assert len(label("x" * 100, {"a": "b" * 100})) == 60


def test_text_is_kept_from_steering_a_terminal() -> None:
    assert clean("a\x1b[31mb\x07\x9b1mc\td\ne") == "abc\td\ne"
    assert clean("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc\x1bcd\x1b[") == "abcd"
    assert clean("\x1b]8;;no end\nof it") == "8;;no end\nof it"
    assert clean("ann\u202etxt.exe \u2067b\u2069 שלום 👩‍🚀") == "anntxt.exe b שלום 👩‍🚀"
    assert shortened("one\ntwo  three", 9) == "one two…"
    command = "leadhand runs list"
    assert (sentence("use this"), sentence(command)) == ("Use this", command)


def test_a_line_to_paste_never_shows_a_password() -> None:
    store = StoreFlags(home="/tmp/a b", database="postgresql://me:secret@host/db")
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"))

    line = resume_command(store, "run_1", definition, ["t.py"])

    assert line == ("leadhand runs resume run_1 --tools t.py --home '/tmp/a b' --database postgresql://me@host/db")


def test_the_duration_of_a_run_includes_its_rest_as_in_lists_of_runs() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    run = RunState(
        run_id="run_1",
        definition=definition(),
        created_at=start,
        finished_at=start + timedelta(hours=2),
        rested=timedelta(hours=1, minutes=50),
    )
    assert lasted(run) == "2 h"
    waiting = RunState(run_id="run_1", definition=definition(), created_at=start, last_at=start + timedelta(minutes=1))
    assert lasted(waiting) == "1 min"
