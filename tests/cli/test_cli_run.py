"""``leadhand run``: what is on stdout, what is on stderr, and which code it ends with."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from leadhand import __version__
from leadhand.cli.commands import runs
from leadhand.cli.terminal import streams

WEATHER = ("run", "--offline", "Weather in Paris?")


def test_the_answer_and_its_sources_are_on_stdout_and_progress_on_stderr(leadhand: Any) -> None:
    result = leadhand(*WEATHER)

    assert result.code == 0
    run_id = leadhand.listing()["run_id"]
    document = leadhand("runs", "show", run_id, "--json").json
    assert document["answer"] in result.out
    assert all(source["url"] in result.out for source in document["sources"])
    opening, *steps = [line for line in result.err.splitlines() if not line.startswith("Results")]
    assert opening.split()[-1] == run_id
    assert [line.split()[1] for line in steps[:2]] == ["offline", "$1.00"]
    assert len([line for line in steps if "wo-001.0" in line]) == 2, "its start and its end"
    assert steps[-1].startswith("succeeded ")
    assert steps[-1].endswith(f"leadhand runs show {run_id}")


def test_json_is_the_run_document_and_nothing_else(leadhand: Any) -> None:
    result = leadhand(*WEATHER, "--json")

    document = result.json
    assert document["status"] == "succeeded"
    assert document["request"] == "Weather in Paris?"
    assert leadhand("runs", "show", document["run_id"], "--json").json == document


def test_stream_json_is_every_event_in_order_and_the_document_last(leadhand: Any) -> None:
    result = leadhand(*WEATHER, "--stream-json")

    *events, last = [json.loads(line) for line in result.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(event.keys() >= {"seq", "at", "epoch", "type"} for event in events)
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "run_finished")
    assert last["type"] == "run"
    assert last["document"]["last_seq"] == events[-1]["seq"]


@pytest.mark.parametrize(
    "how", [("show", "--json"), *(("export", each) for each in ("--jsonl", "--json", "--md", "--html"))]
)
def test_nothing_that_is_printed_of_a_run_steers_the_terminal(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, how: tuple[str, str]
) -> None:
    """U+009B begins escape sequences as ESC does; U+202E reverses what follows. JSON says the same as in a file."""
    for module in (streams, runs):
        monkeypatch.setattr(module, "out_is_terminal", lambda: True)
    request = "Measure the noise in Paris \x9b31m, that is \u202etxt.exe"
    run_id = leadhand("run", "--offline", "--tools", leadhand.tools, "--json", request).json["run_id"]

    result = leadhand("runs", how[0], run_id, how[1])

    assert "txt.exe" in result.out
    assert [mark for mark in "\x1b\x9b\u202e" if mark in result.out] == []
    if how[1] == "--json":
        assert result.json["request"] == request


def test_no_model_named_and_none_found_takes_the_built_in_one_and_says_why(leadhand: Any) -> None:
    result = leadhand("run", "Weather in Paris?", "--max-steps", "1", "--timeout", "60", "--budget", "0.5")

    model, limits = (line.split() for line in result.err.splitlines()[1:3])
    assert model[:2] == ["model", "offline"]
    assert len(model) > 3, "it says why"
    assert limits[:8] == ["limits", "$0.50", "·", "1", "min", "·", "1", "work"]


def test_a_closed_pipe_parks_the_run_and_ends_quietly(leadhand: Any) -> None:
    line = [sys.executable, "-P", "-m", "leadhand", "run", "--offline", "--tools", leadhand.tools, "--stream-json"]
    process = leadhand.start(*line[4:], "Measure the noise in Rome", bufsize=1)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["type"] == "run_started"
    process.stdout.close()
    process.stdout = None

    _, err = process.communicate(timeout=90)

    assert process.returncode == 141
    assert "Traceback" not in err
    run = leadhand.listing()
    assert run["status"] == "paused"
    assert f"leadhand runs resume {run['run_id']}" in err


def test_a_full_disk_under_stdout_is_two_lines(leadhand: Any) -> None:
    with open("/dev/full", "w") as full:
        result = leadhand.process(*WEATHER, stdout=full)

    assert result.code == 1
    assert re.search("\nleadhand: .*: No space left on device\n  .*leadhand runs list\n$", result.err)


@pytest.mark.slow
@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 141), ("2>&-", 0)])
def test_a_closed_stream_is_no_crash(leadhand: Any, closed: str, code: int) -> None:
    script = f'exec {sys.executable} -P -m leadhand run --offline "Weather in Paris?" {closed}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=90)

    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_version_imports_nothing_of_weight(leadhand: Any) -> None:
    code = "import sys; from leadhand.cli.app import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=90, check=True)

    version, modules = done.stdout.splitlines()
    assert version == f"leadhand {__version__}"
    assert not {"argparse", "pydantic", "rich", "asyncio", "dataclasses", "typing"} & set(modules.split())


NOT_OF_A_PLAIN_RUN = (
    "aiohttp",
    "leadhand.app.steering.keys",
    "leadhand.app.project.manifest",
    "leadhand.cli.terminal.prompt",
    "leadhand.dispatch.cluster.live_text",
    "leadhand.app.steering.access",
    "leadhand.app.export.document.model_call",
    "leadhand.app.export.run_document",
    "leadhand.app.export.shapes",
    "leadhand.engine.session.code",
    "leadhand.flows.report",
    "leadhand.flows.research",
    "leadhand.models.router",
    "leadhand.server",
    "leadhand.tools.research",
    "leadhand.tools.web",
    "opentelemetry",
    "psycopg",
    "pydantic_ai",
    "rich",
    "tomllib",
    "pydantic_settings",
)
"""Modules for reports, research, projects, maps, models on servers, terminals and services: their users import them."""


def test_a_run_in_a_pipe_imports_only_what_it_uses(leadhand: Any) -> None:
    code = f"import sys; from leadhand.cli.app import main; code = main({list(WEATHER)!r}); print(code, *sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=90, check=True)

    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert not set(NOT_OF_A_PLAIN_RUN) & set(modules)
    assert "leadhand.tools.travel.weather" in modules


@pytest.mark.slow
def test_a_command_rarely_collects_garbage_while_it_imports_and_ends(leadhand: Any) -> None:
    code = (
        "import gc, sys; from leadhand.cli.app import main; sys.argv = ['leadhand', 'tools', 'list'];"
        "gc.callbacks.append(lambda phase, info: phase == 'start' and print('collected', info['generation']));"
        "main(); print('kept', gc.get_freeze_count() > 1_000)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=90, check=True)

    before, kept, _ = done.stdout.partition("kept True")
    assert kept
    assert before.count("collected") < 20


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (b"", ()),
        (b" \n", ()),
        (b"\xff\xfe", ("stdin", "UTF-8")),
        (b"a" * 100_001, ("100,001", "100,000")),
        (b"a" * 1_100_000, ("more than 1,000,000 bytes",)),
        (b"a" + "ä".encode() * 600_000, ("more than 1,000,000 bytes",)),
    ],
)
def test_stdin_that_is_no_request_is_refused(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, given: bytes, named: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    leadhand("run", "--offline", "-").refused(*named)


REFUSED = "Incorrect API key provided"


class Refusing(BaseHTTPRequestHandler):
    """A model server that knows no key."""

    def do_POST(self) -> None:
        body = json.dumps({"error": {"message": REFUSED, "code": "invalid_api_key"}}).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_key_that_is_refused_ends_with_6(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LEADHAND_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        result = leadhand("run", "--model", "openai_compatible:some-model", "Weather in Paris?")
        server.shutdown()

    assert result.code == 6
    assert leadhand("runs", "show", leadhand.listing()["run_id"], "--json").json["failure"]["type"] == "bad_key"
    assert (result.out, result.err.count(REFUSED)) == ("", 2), "once when it happens, and once at the end"
    assert "OPENAI_API_KEY" in result.err
    assert "sk-wrong" not in result.err + result.out
