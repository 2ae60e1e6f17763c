"""The examples, run as their readers run them: a process of its own, a fresh home, no network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from processes import Process, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PATIENCE_S = 90.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own, and nothing that would choose another model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}
    return {**kept, "LEADHAND_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}


def example(name: str, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, str(EXAMPLES / name), *arguments], env=env)


def leadhand(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "leadhand", *arguments], env=env)


def document(*arguments: str, code: int, env: dict[str, str]) -> dict[str, Any]:
    ran = example("paris.py", "--json", *arguments, env=env)
    assert ran.returncode == code, ran.stderr
    return json.loads(ran.stdout)


def evidence(document: dict[str, Any], order: str, index: int) -> list[dict[str, Any]]:
    """The events that a subtask's own state points at."""
    state = next(state for state in document["work_states"] if state["work_order_id"] == order)
    by_id = {event["event_id"]: event for event in document["context_store"]["events"]}
    return [by_id[event_id] for event_id in state["subtask_state"][str(index)]["event_ids"]]


def test_there_is_a_test_for_every_example() -> None:
    here = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert [path.name for path in sorted(EXAMPLES.glob("*.py")) if path.name not in here] == []


def test_hello_answers_with_its_own_tool(environment: dict[str, str]) -> None:
    ran = example("hello.py", env=environment)
    assert ran.returncode == 0, ran.stderr
    for town in ("Dover", "Calais", "Ostend"):
        assert f"High tide in {town} is at 11:42" in ran.stdout
    assert "succeeded" in ran.stdout
    assert ran.stderr == ""


def test_in_paris_the_hotels_time_out_once_and_are_found_at_the_second_attempt(environment: dict[str, str]) -> None:
    found = document(code=0, env=environment)
    assert found["status"] == "succeeded"
    assert [subtask["name"] for subtask in found["work_orders"][0]["subtasks"]] == ["check_weather", "hotel"]
    first, second = evidence(found, "wo-001", 1)
    assert (first["result"], first["attempt"]) == ("failure", "wo-001.1/a1")
    assert (first["content"]["error"]["type"], first["content"]["error"]["class"]) == ("timeout", "transient")
    assert (second["result"], second["attempt"]) == ("success", "wo-001.1/a2")
    assert second["agent"] == "worker_hotel"


def test_in_paris_a_failing_sibling_costs_the_weather_nothing(environment: dict[str, str]) -> None:
    found = document(code=0, env=environment)
    (weather,) = evidence(found, "wo-001", 0)
    assert (weather["result"], weather["attempt"]) == ("success", "wo-001.0/a1")


@pytest.mark.slow
def test_closed_hotels_become_a_gap_of_a_partial_answer_that_still_tells_the_weather(
    environment: dict[str, str],
) -> None:
    found = document("--closed", code=3, env=environment)
    assert found["status"] == "partial"
    (gap,) = found["gaps"]
    assert (gap["name"], gap["class"]) == ("hotel", "transient")
    assert "Paris" in found["answer"]
    (weather,) = evidence(found, "wo-001", 0)
    assert weather["result"] == "success"
    repaired = [order["subtasks"][0]["name"] for order in found["work_orders"][1:]]
    assert set(repaired) == {"hotel"}, "repair orders hold only what fell short"


def test_paris_tells_what_happened(environment: dict[str, str]) -> None:
    ran = example("paris.py", env=environment)
    assert ran.returncode == 0, ran.stderr
    (told,) = [line.split() for line in ran.stdout.splitlines() if "wo-001.1/a1" in line]
    assert {"worker_hotel", "failure"} <= set(told)
    assert ran.stderr == ""


def test_events_prints_the_log_from_its_first_entry_to_its_last(environment: dict[str, str]) -> None:
    ran = example("events.py", env=environment)
    assert ran.returncode == 0, ran.stderr
    rows = [line.split() for line in ran.stdout.split("\n\n")[0].splitlines()]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    assert (rows[0][2], rows[-1][2]) == ("run_started", "run_finished")
    assert ran.stderr == ""


@pytest.mark.slow
def test_attach_goes_on_where_a_killed_process_stopped(environment: dict[str, str]) -> None:
    ran = example("attach.py", env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "{'Paris': 1, 'Lyon': 2, 'Nice': 2}" in ran.stdout
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_a_killed_run_of_slow_tools_is_resumed_without_doing_a_finished_town_again(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The README's demonstration, at a quicker pace."""
    log = tmp_path / "survey.log"
    env = {**environment, "SURVEY_LOG": str(log), "SURVEY_SECONDS": "0.5"}
    tools = str(EXAMPLES / "slow_tools.py")
    request = "Survey Paris, Lyon, Nice, Lille, Nantes and Bordeaux"
    running = Process(
        [sys.executable, "-m", "leadhand", "run", "--offline", "--tools", tools, "--max-workers", "2", request],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    run_id = running.stderr.readline().split()[1]
    towns_done = 0
    deadline = time.monotonic() + PATIENCE_S
    while towns_done < 3:  # three of six, two at a time: one or two more are under way
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
        towns_done = log.read_text().count("finished") if log.exists() else 0
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stderr.close()

    listed = json.loads(leadhand("runs", "list", "--json", env=env).stdout)
    assert run_id in json.dumps(listed)
    before = json.loads(leadhand("runs", "show", run_id, "--json", env=env).stdout)
    assert (before["status"], before["owner"]) == ("running", None), "an orphan: it should run, and nobody drives it"
    done = {event["content"]["location"] for event in before["context_store"]["events"]}
    assert len(done) >= 2

    resumed = leadhand("runs", "resume", run_id, "--tools", tools, env=env)
    assert resumed.returncode == 0, resumed.stderr
    calls = Counter(line.removeprefix("began ") for line in log.read_text().splitlines() if line.startswith("began "))
    assert set(calls) == {"Paris", "Lyon", "Nice", "Lille", "Nantes", "Bordeaux"}
    assert {town: calls[town] for town in done} == dict.fromkeys(done, 1)
    assert max(calls.values()) <= 2
