"""``leadhand doctor``: what is wrong, and how to mend it."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from leadhand.models.pydantic_ai import connection


def levels(leadhand: Any, *flags: str) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in leadhand("doctor", "--json", *flags).json}


def finding(leadhand: Any, check: str, level: str) -> str:
    """What the doctor finds in a check of this level, and how to fix it."""
    result = leadhand("doctor", "--json")
    assert result.code == (6 if level == "fail" else 0), result.out
    (found,) = [each for each in result.json if (each["check"], each["level"]) == (check, level)]
    return f"{found['what']}\n{found['how']}"


def test_a_set_up_in_order_ends_with_0(leadhand: Any) -> None:
    result = leadhand("doctor")

    assert result.code == 0
    checks_made = [line.split()[1] for line in result.out.splitlines()]
    assert checks_made == ["leadhand", "home", "database", "runs", "model"]
    assert set(levels(leadhand).values()) == {"ok"}
    assert finding(leadhand, "model", "ok").startswith("offline ")


@pytest.mark.parametrize("flags", [("--home", "/dev/null/x"), ("--database", "mysql://x")])
def test_a_set_up_that_cannot_work_ends_with_6_and_says_how_to_mend_it(leadhand: Any, flags: tuple[str, str]) -> None:
    result = leadhand("doctor", *flags)

    assert result.code == 6
    failed = next(number for number, line in enumerate(result.out.splitlines()) if line.startswith("FAIL"))
    assert result.out.splitlines()[failed + 1].startswith(" " * 16)


@pytest.mark.parametrize("change", ["UPDATE meta SET version = 99", "DROP TABLE secrets"], ids=["newer", "older"])
def test_a_database_of_another_version_fails_and_the_rest_is_checked_all_the_same(leadhand: Any, change: str) -> None:
    leadhand("runs", "list")
    with sqlite3.connect(leadhand.home / "leadhand.db") as connection:
        connection.execute(change)
    connection.close()

    found = levels(leadhand)

    assert (found["database"], found["model"]) == ("fail", "ok")


@pytest.mark.parametrize(
    ("environment", "check", "level", "named"),
    [
        ("LEADHAND_MODEL=openai:gpt-9", "model", "fail", ("OPENAI_API_KEY",)),
        ("LEADHAND_MODEL=ollama:llama3.1", "reach", "fail", ("http://127.0.0.1:9/v1",)),
        ("LEADHAND_BASE_URL=http://127.0.0.1:9/v1", "model", "fail", ("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")),
        ("ANTHROPIC_API_KEY=sk-secret", "model", "ok", ("ANTHROPIC_API_KEY", "uv add", "leadhand[anthropic]")),
    ],
)
def test_the_model_of_the_environment_is_checked(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, environment: str, check: str, level: str, named: tuple[str, ...]
) -> None:
    monkeypatch.setenv(*environment.split("="))
    monkeypatch.setattr(connection, "is_installed", lambda provider: False)

    found = finding(leadhand, check, level)

    assert [each for each in named if each not in found] == []
    if (check, level) == ("model", "fail"):
        leadhand("run", "What's the weather in Paris?").refused(*named, code="configuration")


@pytest.mark.parametrize(
    ("status", "body", "level", "named"),
    [
        (401, "{}", "fail", "401"),
        (200, "<html>", "fail", "PORT"),
        (200, '{"data": [{"id": "other"}]}', "warn", " m"),
        (200, '{"data": [{"id": "m"}]}', "ok", "http://127.0.0.1:PORT/v1"),
        (404, "{}", "ok", "http://127.0.0.1:PORT/v1"),
    ],
)
def test_a_named_server_is_asked_for_its_models(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, status: int, body: str, level: str, named: str
) -> None:
    with serving(status, body) as port:
        monkeypatch.setenv("LEADHAND_BASE_URL", f"http://127.0.0.1:{port}/v1")
        monkeypatch.setenv("LEADHAND_MODEL", "openai_compatible:m")
        assert named.replace("PORT", str(port)) in finding(leadhand, "reach", level)


@contextmanager
def serving(status: int, body: str) -> Iterator[int]:
    """A server that answers every GET in this way."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
def test_the_address_of_a_provider_with_its_own_protocol_is_tried(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_MODEL", "claude:claude-haiku-5-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    pytest.importorskip("anthropic")

    assert "http://127.0.0.1:9" in finding(leadhand, "reach", "fail")


def test_a_run_left_behind_is_a_warning(leadhand: Any) -> None:
    process = leadhand.start("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Rome")
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=90)

    run_id = leadhand.listing()["run_id"]
    assert f"leadhand runs resume {run_id} --tools {leadhand.tools}" in finding(leadhand, "runs", "warn")


def test_a_log_with_a_gap_fails(leadhand: Any) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]
    with sqlite3.connect(leadhand.home / "leadhand.db") as database:
        database.execute("DELETE FROM events WHERE seq = 3")

    found = finding(leadhand, "log", "fail")
    assert run_id in found
    assert "leadhand runs delete" in found


def test_a_damaged_page_fails(leadhand: Any) -> None:
    leadhand("run", "--offline", "--json", "Weather in Paris?")
    database = leadhand.home / "leadhand.db"
    with sqlite3.connect(database) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'gates'")
    connection.close()
    with database.open("r+b") as file:
        file.seek((root - 1) * 4_096)
        file.write(b"\xff" * 4_096)

    assert "leadhand.db" in finding(leadhand, "database", "fail")


def test_the_database_of_a_server_that_was_just_checked_is_in_order(leadhand: Any) -> None:
    leadhand("runs", "list")
    with sqlite3.connect(leadhand.home / "leadhand.db") as connection:
        connection.execute("INSERT INTO cache VALUES ('is this database writable?', 'null', 0)")
    connection.close()

    assert levels(leadhand)["database"] == "ok"
