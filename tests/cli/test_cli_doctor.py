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

from leadhand.app import checks
from leadhand.models.pydantic_ai import connection


def levels(leadhand: Any, *flags: str) -> dict[str, str]:
    return {finding["check"]: finding["level"] for finding in leadhand("doctor", "--json", *flags).json}


def test_a_set_up_in_order_ends_with_0(leadhand: Any) -> None:
    result = leadhand("doctor")

    assert result.code == 0
    checks_made = [line.split()[1] for line in result.out.splitlines()]
    assert checks_made == ["python", "leadhand", "home", "disk", "database", "runs", "model", "extras"]
    assert "model     offline (no provider key is set and no Ollama answers" in result.out


@pytest.mark.parametrize("flags", [("--home", "/dev/null/x"), ("--database", "mysql://x")])
def test_a_set_up_that_cannot_work_ends_with_6_and_says_how_to_mend_it(leadhand: Any, flags: tuple[str, str]) -> None:
    result = leadhand("doctor", *flags)

    assert result.code == 6
    failed = next(number for number, line in enumerate(result.out.splitlines()) if line.startswith("FAIL"))
    assert result.out.splitlines()[failed + 1].startswith(" " * 16)


def test_a_newer_database_fails_and_the_rest_is_checked_all_the_same(leadhand: Any) -> None:
    leadhand("runs", "list")
    with sqlite3.connect(leadhand.home / "leadhand.db") as connection:
        connection.execute("UPDATE meta SET version = 99")
    connection.close()

    found = levels(leadhand)

    assert (found["database"], found["model"]) == ("fail", "ok")


def test_a_model_without_its_key_fails(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_MODEL", "openai:gpt-9")

    assert levels(leadhand)["model"] == "fail"


def test_a_local_model_is_looked_for(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_MODEL", "ollama:llama3.1")

    result = leadhand("doctor")

    assert result.code == 6
    assert "FAIL  reach     no server answers at http://127.0.0.1:9/v1" in result.out


def test_an_address_without_models_fails_with_its_cause(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")

    checked, ran = leadhand("doctor"), leadhand("run", "What's the weather in Paris?")

    assert (checked.code, ran.code) == (6, 6)
    assert "FAIL  model     LEADHAND_BASE_URL is set, but the server does not list its models: no conn" in checked.out
    assert "no connection to http://127.0.0.1:9/v1" in ran.err


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, "{}", "FAIL  reach     the model server answered 401"),
        (200, "<html>", "answers with a web page"),
        (200, '{"data": [{"id": "other"}]}', "warn  reach     http://127.0.0.1:PORT/v1 answers, but does not list m"),
        (200, '{"data": [{"id": "m"}]}', "ok    reach     http://127.0.0.1:PORT/v1 answers"),
        (404, "{}", "ok    reach     http://127.0.0.1:PORT/v1 answers"),
    ],
)
def test_a_named_server_is_asked_for_its_models(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, status: int, body: str, said: str
) -> None:
    with serving(status, body) as port:
        monkeypatch.setenv("LEADHAND_BASE_URL", f"http://127.0.0.1:{port}/v1")
        monkeypatch.setenv("LEADHAND_MODEL", "openai_compatible:m")
        assert said.replace("PORT", str(port)) in leadhand("doctor").out


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


def test_a_key_that_nothing_here_can_use_is_a_warning(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setattr(connection, "is_installed", lambda provider: False)

    result = leadhand("doctor")

    assert result.code == 0
    line = next(line for line in result.out.splitlines() if line.startswith("warn  model"))
    assert "ANTHROPIC_API_KEY is set, but Anthropic needs an extra" in line
    assert "no provider key is set" not in line
    assert 'install its extra: uv add "leadhand[anthropic]"' in result.out


def test_the_address_of_a_provider_with_its_own_protocol_is_tried(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_MODEL", "claude:claude-haiku-5-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    pytest.importorskip("anthropic")

    assert "no server answers at http://127.0.0.1:9" in leadhand("doctor").out


def test_every_extra_is_told(leadhand: Any) -> None:
    line = leadhand("doctor").out.splitlines()[-1]
    assert all(name in line for name in ("postgres", "anthropic", "google", "bedrock", "cohere"))


def test_little_room_on_the_disk_is_a_warning(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LEAST_FREE_BYTES", 10**18)

    result = leadhand("doctor")

    assert result.code == 0
    assert "warn  disk" in result.out


def test_a_run_left_behind_is_a_warning(leadhand: Any) -> None:
    process = leadhand.start("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Rome")
    leadhand.wait(lambda: leadhand.calls["Rome"], "the call in Rome")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=90)

    result = leadhand("doctor")

    assert "warn  runs      1 run orphaned by a process that died" in result.out
    run_id = leadhand.listing()["run_id"]
    assert f"Resume with: leadhand runs resume {run_id} --tools {leadhand.tools}" in result.out


def test_a_log_with_a_gap_fails(leadhand: Any) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]
    with sqlite3.connect(leadhand.home / "leadhand.db") as database:
        database.execute("DELETE FROM events WHERE seq = 3")

    result = leadhand("doctor")

    assert result.code == 6
    assert f"FAIL  log       run {run_id} is damaged: of its " in result.out
    assert "leadhand runs delete RUN" in result.out


def test_a_database_that_was_truncated_fails(leadhand: Any) -> None:
    leadhand("run", "--offline", "--json", "Weather in Paris?")
    database = leadhand.home / "leadhand.db"
    database.write_bytes(b"")

    for command in (("doctor",), ("runs", "list"), ("run", "--offline", "Weather in Rome?")):
        result = leadhand(*command)
        assert result.code == 6
        assert "has lost events: it is missing or empty" in result.out + result.err
    assert database.read_bytes() == b""


def test_a_damaged_page_fails(leadhand: Any) -> None:
    leadhand("run", "--offline", "--json", "Weather in Paris?")
    database = leadhand.home / "leadhand.db"
    with sqlite3.connect(database) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'gates'")
    connection.close()
    with database.open("r+b") as file:
        file.seek((root - 1) * 4_096)
        file.write(b"\xff" * 4_096)

    result = leadhand("doctor")

    assert result.code == 6
    assert "FAIL" in result.out
    assert "leadhand.db is damaged: " in result.out


def test_the_database_of_a_server_that_was_just_checked_is_in_order(leadhand: Any) -> None:
    leadhand("runs", "list")
    with sqlite3.connect(leadhand.home / "leadhand.db") as connection:
        connection.execute("INSERT INTO cache VALUES ('is this database writable?', 'null', 0)")
    connection.close()

    assert levels(leadhand)["database"] == "ok"
