"""``leadhand serve`` as a process: what it says, what it refuses, how it ends, and what survives it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.commands import approvals
from leadhand.server.schemas import PARTS

REQUEST = "Measure the noise in Paris, London and Rome"
"""Paris and London are measured at once; Rome waits until the gate is open."""


class Server:
    """A process that serves, and what it says."""

    def __init__(self, leadhand: Any, *arguments: str, **options: Any) -> None:
        self.log = leadhand.folder / f"log_{len(leadhand.started)}.txt"
        with self.log.open("w") as log:
            self.process: subprocess.Popen[str] = leadhand.start(
                "serve", "--port", "0", *arguments, stderr=log, **options
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), self.log.read_text()

    def ask(self, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON of a route; an error's too."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"content-type": "application/json", **headers}, method="POST" if data else "GET"
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def run(self, run_id: str) -> dict[str, Any]:
        return self.ask(f"/api/runs/{run_id}")

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal; how it ended."""
        self.process.send_signal(number)
        return self.process.wait(timeout=90)


Serve = Callable[..., Server]


@pytest.fixture
def serve(leadhand: Any) -> Iterator[Serve]:
    servers: list[Server] = []

    def serve(*arguments: str, tools: bool = True, **options: Any) -> Server:
        given = ("--offline", *(("--tools", leadhand.tools) if tools else ()), *arguments)
        servers.append(Server(leadhand, *given, **options))
        return servers[-1]

    yield serve
    leadhand.open_gate()
    for server in servers:
        if server.process.poll() is None:
            server.end(signal.SIGKILL)


def in_rome(leadhand: Any, server: Server, request: str = REQUEST) -> str:
    """A run that has measured Paris and London, and waits in Rome."""
    run_id = server.ask("/api/runs", {"request": request})["run_id"]
    leadhand.wait(lambda: leadhand.calls["Rome"] >= 1, "the call in Rome")
    leadhand.wait(lambda: leadhand("runs", "list", "--json").json[0]["completed"] == 2, "Paris and London")
    return run_id


# --- what survives it -------------------------------------------------------------------------------------------------


def test_after_kill_9_the_next_server_goes_on_and_repeats_nothing_finished(leadhand: Any, serve: Serve) -> None:
    first = serve()
    run_id = in_rome(leadhand, first)
    first.end(signal.SIGKILL)
    assert leadhand.listing()["orphan"] is True

    leadhand.open_gate()
    second = serve()
    leadhand.wait(lambda: second.run(run_id)["status"] == "succeeded", "the adopted run")

    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 2}
    run = second.run(run_id)
    assert all(f"{place}: 40 dB" in run["answer"] for place in ("Paris", "London", "Rome"))
    events = second.ask(f"/api/runs/{run_id}/events?limit=1000")["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count("run_claimed") == 1


@pytest.mark.slow
def test_runs_that_another_living_process_drives_are_not_taken(leadhand: Any, serve: Serve) -> None:
    """The second server has looked round: it has gone on with the run that the third left behind."""
    first = serve()
    run_id = in_rome(leadhand, first)
    owner = first.run(run_id)["owner"]
    third = serve()
    orphan = third.ask("/api/runs", {"request": "Measure the noise in Rome"})["run_id"]
    leadhand.wait(lambda: leadhand.calls["Rome"] == 2, "the second call in Rome")
    second = serve()
    third.end(signal.SIGKILL)
    leadhand.wait(lambda: leadhand.calls["Rome"] == 3, "the orphan to have been taken up")

    assert first.run(run_id)["owner"] == owner
    refused = second.ask(f"/api/runs/{run_id}/resume", {})
    assert (refused["status"], refused["code"]) == (409, "run_owned")
    leadhand.open_gate()
    for each in (run_id, orphan):
        leadhand.wait(lambda each=each: second.run(each)["status"] == "succeeded", "both runs")
    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 3}


def test_a_run_whose_tools_are_missing_is_left_to_a_server_that_has_them(leadhand: Any, serve: Serve) -> None:
    first = serve()
    run_id = in_rome(leadhand, first)
    first.end(signal.SIGKILL)
    leadhand.open_gate()
    assert "leadhand serve" in leadhand("runs", "show", run_id, "--json").json["waits_for"]

    without = serve(tools=False)
    leadhand.wait(lambda: "measure_tool" in without.log.read_text(), "the warning")
    assert "measure_tool" in without.run(run_id)["waits_for"]
    shown = leadhand("runs", "show", run_id)
    assert without.run(run_id)["waits_for"] in shown.out
    assert shown.command("runs resume")[2] == run_id
    left = leadhand.listing()
    assert (left["status"], left["orphan"]) == ("running", True)

    second = serve()
    leadhand.wait(lambda: second.run(run_id)["status"] == "succeeded", "the run, where its tools are")
    assert second.run(run_id)["waits_for"] == ""
    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 2}


@pytest.mark.slow
def test_a_question_answered_on_the_command_line_lets_the_servers_run_go_on(
    leadhand: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "SETTLED_WITHIN_S", 60.0)
    server = serve()
    run_id = server.ask("/api/runs", {"request": "Pay 20 to Ann"})["run_id"]
    leadhand.wait(lambda: server.run(run_id)["status"] == "waiting", "the question")
    (card,) = server.ask("/api/approvals")["approvals"]
    server.end(signal.SIGKILL)
    second = serve()

    answered = leadhand("approvals", "approve", card["approval_id"])

    assert (answered.code, run_id in answered.err, "runs resume" in answered.err) == (0, True, False), answered.err
    leadhand.wait(lambda: second.run(run_id)["status"] in ("succeeded", "partial"), "the run to go on")
    assert second.run(run_id)["status"] == "succeeded"
    assert leadhand.calls == {"paid Ann": 1}


def test_the_command_line_prints_the_documents_that_the_routes_return(leadhand: Any, serve: Serve) -> None:
    server = serve()
    run_id = server.ask("/api/runs", {"request": "Pay 20 to Ann"})["run_id"]
    leadhand.wait(lambda: server.run(run_id)["status"] == "waiting", "the question")
    leadhand.wait(lambda: server.ask("/api/runs")["runs"][0]["owner"] is None, "the run to rest")

    (line,) = server.ask("/api/runs")["runs"]
    (card,) = server.ask("/api/approvals")["approvals"]
    assert leadhand("runs", "list", "--json").json == [line]
    assert leadhand("approvals", "list", "--json").json == [card]
    parts = "&".join(f"include={part}" for part in PARTS)
    assert leadhand("runs", "show", run_id, "--json").json == server.ask(f"/api/runs/{run_id}?{parts}")


# --- how it ends ------------------------------------------------------------------------------------------------------

WAITS_FOR_HOURS = """
import sys
from leadhand.cli.app import main
from leadhand.server import serving

serving.HANGS_UP_AFTER_S = serving.ENDS_WITHIN_S = 36_000
sys.exit(main())
"""
"""A server that never ends if it waits for a client."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_with_open_streams_and_waits_for_none(
    leadhand: Any, serve: Serve, number: signal.Signals
) -> None:
    server = serve(program=("-c", WAITS_FOR_HOURS))
    run_id = in_rome(leadhand, server)
    streams = [urllib.request.urlopen(f"{server.url}/api/runs/{run_id}/events/stream") for _ in range(5)]
    for stream in streams:
        assert stream.readline() == b"retry: 2000\n"

    code = server.end(number)

    assert code == 0
    for stream in streams:
        said = stream.read()  # to its end, which is no error
        assert b"event: end" not in said
        stream.close()
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "error" not in log.lower()
    assert server.process.stdout is not None
    assert server.process.stdout.read() == ""
    assert leadhand.listing()["owner"] is None


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_leaves_at_once(leadhand: Any, serve: Serve, number: signal.Signals) -> None:
    """A request that never comes to its end would be waited for."""
    server = serve(program=("-c", WAITS_FOR_HOURS))
    run_id = in_rome(leadhand, server)
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n")
        half.sendall(b"Content-Type: application/json\r\n\r\n{")
        assert server.ask("/healthz") == {"status": "ok"}
        server.process.send_signal(number)
        leadhand.wait(lambda: not _listens(port), "the server to end")
        code = server.end(number)
    assert code == 0
    assert "Traceback" not in server.log.read_text()
    left = leadhand("runs", "show", run_id, "--json").json
    assert (left["status"], left["owner"]) == ("running", None)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


# --- what it refuses --------------------------------------------------------------------------------------------------


def test_another_host_wants_a_key_first(leadhand: Any, serve: Serve) -> None:
    key = leadhand("keys", "create", "ann").out.strip()
    server = serve("--host", "0.0.0.0")
    server.url = server.url.replace("0.0.0.0", "127.0.0.1")
    assert server.ask("/api/runs")["status"] == 401
    assert server.ask("/api/runs", authorization=f"Bearer {key}") == {"runs": [], "next_cursor": None}
    assert server.ask("/healthz") == {"status": "ok"}


def test_a_revoked_key_is_no_key(leadhand: Any) -> None:
    leadhand("keys", "create", "ann")
    key_id = leadhand("keys", "list", "--json").json[0]["key_id"]
    leadhand("keys", "revoke", key_id)

    leadhand("serve", "--offline", "--require-key", "--port", "0").refused("--require-key", code="configuration")


def test_a_port_that_is_taken_is_told(leadhand: Any, serve: Serve) -> None:
    port = serve().url.rpartition(":")[2]

    leadhand("serve", "--offline", "--port", port).refused(port, "127.0.0.1", "--port", code="configuration")


def test_a_host_that_is_not_there_is_told(leadhand: Any) -> None:
    leadhand("keys", "create", "ann")
    refused = leadhand("serve", "--offline", "--host", "192.0.2.1", "--port", "0")
    refused.refused("192.0.2.1", "--host", code="configuration")


# --- what it says to whom ---------------------------------------------------------------------------------------------


def test_an_allowed_site_and_host_are_taken_from_the_command_line(leadhand: Any, serve: Serve) -> None:
    server = serve("--cors", "https://app.example.org/", "--allow-host", "Hands.Example.org")

    assert server.ask("/healthz", Host="hands.example.org") == {"status": "ok"}
    assert server.ask("/healthz", Host="evil.example")["status"] == 421
    site = {"Origin": "https://app.example.org"}
    assert server.ask("/api/runs", {"request": "x"}, **site)["status"] == 401
    assert server.ask("/api/runs", {"request": "x"}, Origin="https://evil.example")["status"] == 403


def test_the_log_goes_to_stderr_and_the_address_alone_to_stdout(
    leadhand: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_LOG_LEVEL", "debug")
    server = serve()
    assert server.url.startswith("http://127.0.0.1:")
    server.ask("/api/runs?q=confidential")
    assert server.ask("/api/flows")["flows"]
    assert server.end() == 0

    assert server.process.stdout is not None
    assert server.process.stdout.read() == ""
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]  # from the first one on
    assert {"uvicorn.error", "leadhand.server", "leadhand.access"} <= {line["logger"] for line in lines}
    (serving,) = [line for line in lines if line["event"] == "serving"]
    assert serving["api"].endswith("/openapi.json")
    assert [line["path"] for line in lines if "path" in line] == ["/api/runs", "/api/flows"]
    (stopped,) = [line for line in lines if line["event"] == "stopped"]
    assert stopped["runs_to_resume"] == 0
    assert "confidential" not in server.log.read_text()
    assert not Path(leadhand.home, "core").exists()
    assert os.path.exists(leadhand.home)


def test_no_secret_gets_into_the_log_or_the_home(leadhand: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", "canary7f3a91d0e5c2")
    monkeypatch.setenv("LEADHAND_LOG_LEVEL", "debug")
    key = leadhand("keys", "create", "ann", "--scope", "admin").out.strip()
    server = serve("--require-key")
    who = {"authorization": f"Bearer {key}"}
    request = f"Measure the noise in Paris with canary7f3a91d0e5c2 and {key}"
    run_id = server.ask("/api/runs", {"request": request}, **who)["run_id"]
    leadhand.wait(lambda: server.ask(f"/api/runs/{run_id}", **who)["finished_at"], "its end")
    assert server.ask("/api/session", {"key": key})["authenticated"] is True
    server.ask(f"/api/runs?q={key}", **who)
    assert server.ask("/api/runs", authorization=f"Bearer {key}x")["status"] == 401
    assert server.ask("/api/runs")["status"] == 401
    said = json.dumps(server.ask(f"/api/runs/{run_id}/events?limit=1000", **who))
    kept = b"".join(path.read_bytes() for path in leadhand.home.rglob("*") if path.is_file())
    assert server.end() == 0

    log = server.log.read_text()
    assert "/api/session" in log
    assert "[redacted]" in said
    for secret in ("canary7f3a91d0e5c2", key, key[10:]):
        assert secret not in log
        assert secret not in said
        assert secret.encode() not in kept


def test_the_other_loopback_address_will_do(leadhand: Any, serve: Serve) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = serve("--host", "::1")

    assert server.url.startswith("http://[::1]:")
    assert server.ask("/api/session")["authenticated"] is True


@pytest.mark.slow
def test_an_answer_on_the_command_line_says_which_server_continues_a_run_with_hooks(
    leadhand: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "SETTLED_WITHIN_S", 0.0)
    path = leadhand.folder / "looks.py"
    path.write_text("from leadhand.hooks import before_tool\n\n@before_tool\ndef looks(call):\n    return None\n")
    server = serve("--hooks", str(path))
    for _ in range(2):
        server.ask("/api/runs", {"request": "Pay 30 to Bob", "approve": "ask"})
    leadhand.wait(lambda: len(leadhand("approvals", "list", "--json").json) == 2, "the questions")
    assert server.end() == 0
    first, second = leadhand("approvals", "list", "--json").json

    without = leadhand("approvals", "approve", first["approval_id"])
    assert "looks:looks" in without.err
    assert without.command("runs resume")[-2:] == ["--hooks", "FILE"]

    lacking = serve()
    leadhand.wait(lambda: "looks:looks" in lacking.log.read_text(), "the refusal of the other run")
    monkeypatch.setattr(approvals, "SETTLED_WITHIN_S", 8.0)
    refused = leadhand("approvals", "approve", second["approval_id"])
    assert "looks:looks" in refused.err
    assert refused.command("runs resume")[-2:] == ["--hooks", "FILE"]
