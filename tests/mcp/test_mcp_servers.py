"""The servers of the protocol's authors, of the old protocol (for Node.js) and the new one (for Python), over both
transports. In CI, a missing npm or uvx is a failure."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import processes
import psutil
import pytest
from mcp_servers import lead_with, until

from leadhand import RunStatus, mcp
from leadhand.flows.facts import clarified_request

pytestmark = pytest.mark.slow
OLD, NEW = "MCP 2025-11-25", "MCP 2026-07-28"
LONG: dict[str, Any] = {"tool": "trigger_long_running_operation", "args": {"duration": 3, "steps": 3}}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@asynccontextmanager
async def served(command: list[str], port: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Start a server that listens on a port, and kill it and its children at the end."""
    environment = {**os.environ, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    try:
        await until(listens)
        yield process
    finally:
        if process.returncode is None:
            for each in psutil.Process(process.pid).children(recursive=True):
                each.kill()
            process.kill()
        await process.wait()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    return tmp_path


def over_http(package: str, argument: str, port: int) -> list[str]:
    """A program that serves a package of the new protocol at a port, by the library's own means."""
    code = f"from {package}.server import create_server; create_server({argument}).run('streamable-http', port={port})"
    return ["python", "-c", code]


TOKYO = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
CALLS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "everything": ("get_sum", {"a": 2, "b": 3}, "5", OLD),
    "filesystem": ("list_directory", {"path": "."}, ".git", OLD),
    "time": ("convert_time", TOKYO, "21:00", NEW),
    "git": ("git_log", {"repo_path": "."}, "first", NEW),
}
"""Of each server a tool, its arguments, what it says, and the protocol."""


@pytest.mark.parametrize(
    ("server", "transport"),
    [*((each, "stdio") for each in CALLS), *((each, "http") for each in CALLS if each != "filesystem")],
)
async def test_tools_of_public_servers_answer(
    repository: Path, home: Path, node: Path, python: Callable[..., list[str]], server: str, transport: str
) -> None:
    tool, args, said, protocol = CALLS[server]
    args = {name: str(repository) if value == "." else value for name, value in args.items()}
    port, place = free_port(), repr(str(repository))
    commands = {
        ("everything", "stdio"): [str(node / "mcp-server-everything"), "stdio"],
        ("everything", "http"): [str(node / "mcp-server-everything"), "streamableHttp"],
        ("filesystem", "stdio"): [str(node / "mcp-server-filesystem"), str(repository)],
        ("time", "stdio"): python("mcp-server-time"),
        ("time", "http"): python(*over_http("mcp_server_time", "'UTC'", port)),
        ("git", "stdio"): python("mcp-server-git", "-r", str(repository)),
        ("git", "http"): python(*over_http("mcp_server_git", f"__import__('pathlib').Path({place})", port)),
    }
    command = commands[server, transport]
    async with served(command, port) if transport == "http" else asyncio.TaskGroup():
        used = mcp(f"http://127.0.0.1:{port}/mcp" if transport == "http" else command, name=server)
        async with lead_with(home, used, {"tool": tool, "args": args}) as lead:
            run = await lead.start("Do it")
            answer = await run.answer()
            spec = run.state.tools[tool]
    assert (answer.status, said in answer.text) == (RunStatus.SUCCEEDED, True), str(answer)
    assert (spec.origin, spec.effect, spec.version.partition(",")[0]) == (f"mcp:{server}", "pure", protocol)


async def test_a_server_at_a_url_that_is_started_again_costs_one_call(home: Path, node: Path) -> None:
    """It dies in the middle of a call, and then does not know the session of the next one."""
    command, port = [str(node / "mcp-server-everything"), "streamableHttp"], free_port()
    server = mcp(f"http://127.0.0.1:{port}/mcp", name="everything")
    async with lead_with(home, server, LONG) as lead:
        async with served(command, port) as first:
            run = await lead.start("Do it")
            await until(lambda: run.state.steps.get("wo-001.0") and run.state.steps["wo-001.0"].running)
            first.send_signal(signal.SIGKILL)
            await first.wait()
            async with served(command, port):
                assert (await run.answer()).status is RunStatus.SUCCEEDED
        async with served(command, port):
            again = await lead.run("Do it")
    assert again.status is RunStatus.SUCCEEDED, "what was not sent is sent to the next server"
    assert [each.tool for each in again.done] == []


@pytest.mark.parametrize(("reply", "told"), [('{"name": "Ada"}', "Ada"), (None, "decline")], ids=["answered", "nobody"])
async def test_a_server_of_the_old_protocol_waits_for_an_answer_during_the_call(
    home: Path, node: Path, reply: str | None, told: str
) -> None:
    server = mcp([str(node / "mcp-server-everything"), "stdio"], name="everything", timeout=20 if reply else 4)
    async with lead_with(home, server, {"tool": "trigger_elicitation_request"}) as lead:
        run = await lead.start("Ask me")
        asked = await until(lambda: run.state.questions)
        assert "Your full, legal name" in next(iter(asked.values())).text
        if reply is not None:
            await run.reply(reply)
        answer = await run.answer()
        assert told in str(run.state.steps["wo-001.0"].data)
        assert ("Nobody replied" in str(run.state.steps["wo-001.0"].data)) == (reply is None)
        (question,) = run.state.questions.values()
        assert clarified_request(run.state) == "Ask me", "the words of a server are not those of the request"
    assert answer.status is RunStatus.SUCCEEDED
    assert (question.reply or None) == reply


async def test_a_question_during_a_call_is_shown_whole_with_the_command_that_answers_it_in_time(
    tmp_path: Path, home: Path, node: Path
) -> None:
    (tmp_path / "asks.py").write_text(
        "from leadhand.flows import FlowContext, flow\n\n@flow\nasync def asks(run: FlowContext) -> str:\n"
        '    return str((await run.call("trigger_elicitation_request")).value)\n'
    )
    words = ["--flows", "asks.py", "--flow", "asks", "--mcp", f"{node / 'mcp-server-everything'} stdio"]
    place = {"cwd": tmp_path, "env": {**os.environ, "LEADHAND_HOME": str(home)}}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **place}
    leadhand = [sys.executable, "-m", "leadhand"]
    asks = await asyncio.create_subprocess_exec(
        *leadhand, "run", "--offline", "--approve", "auto", *words, "Ask me", **pipes
    )
    said = ""
    while (command := re.search(r"(\d+) s with: leadhand (answer \S+) TEXT\n", said)) is None:
        line = (await asks.stderr.readline()).decode()  # type: ignore[union-attr]
        assert line, said
        said += line
    assert "legacyTitledEnum" in said, "the whole question"
    assert 20 < int(command[1]) <= 30, "nearly all of the time of the call"
    answer = await asyncio.create_subprocess_exec(*leadhand, *command[2].split(), '{"name": "Ada"}', **pipes)
    assert await answer.wait() == 0
    assert "Ada" in (await asks.communicate())[0].decode()
    assert asks.returncode == 0


async def test_a_tool_that_its_server_calls_destructive_asks_although_it_is_idempotent(
    tmp_path: Path, home: Path, node: Path
) -> None:
    server = mcp([str(node / "mcp-server-filesystem"), str(tmp_path)], name="files")
    call = {"tool": "write_file", "args": {"path": str(tmp_path / "note.txt"), "content": "hello"}}
    async with lead_with(home, server, call, approve="ask") as lead:
        run = await lead.start("Write a note")
        await run.wait()
        (asked,) = await lead.approvals()
        assert (asked.approval.tool, run.state.tools["write_file"].effect) == ("write_file", "idempotent")
        assert not (tmp_path / "note.txt").exists()
        await run.approve(asked)
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert (tmp_path / "note.txt").read_text() == "hello"


async def test_a_key_that_a_server_shows_is_redacted(home: Path, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIN_NAME", "a-key-of-the-server")
    command = [str(node / "mcp-server-everything"), "stdio"]
    server = mcp(command, name="everything", env={"SHOWN": "env:PLAIN_NAME"})
    async with lead_with(home, server, {"tool": "get_env"}) as lead:
        assert (await lead.run("Show me the environment")).status is RunStatus.SUCCEEDED
    kept = b"".join(each.read_bytes() for each in home.rglob("*") if each.is_file())
    assert b"SHOWN" in kept
    assert b"a-key-of-the-server" not in kept


async def test_progress_is_in_the_log(home: Path, node: Path) -> None:
    server = mcp([str(node / "mcp-server-everything"), "stdio"], name="everything")
    async with lead_with(home, server, LONG) as lead:
        run = await lead.start("Do it")
        notes = [event.message async for event in run.events() if event.type == "note_emitted"]
    assert any("of 3" in each for each in notes)


@pytest.mark.parametrize("command", ["false", "there-is-no-such-command"])
def test_a_command_that_ends_at_once_is_reported_at_once(command: str) -> None:
    found = processes.run([sys.executable, "-m", "leadhand", "tools", "list", "--mcp", command])
    assert found.returncode == 6
    assert "did not answer" not in found.stderr, "nobody waits for a process that has ended"
