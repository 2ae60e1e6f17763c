"""``leadhand mcp`` as a process, over stdio and HTTP: killed in the middle of a run, the next one finishes it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

REQUEST = "Measure the noise in Paris, London and Rome"
"""Paris and London are measured at once; Rome waits until the gate is open."""


@asynccontextmanager
async def connected(leadhand: Any, transport: str) -> AsyncGenerator[tuple[Client, int]]:
    """A client of a server of its own, and the id of the server's process."""
    command = ["mcp", "--offline", "--tools", leadhand.tools]
    async with AsyncExitStack() as stack:
        if transport == "http":
            with (leadhand.folder / "log.txt").open("w") as log:
                process = leadhand.start(*command, "--http", "--port", "0", stderr=log)
            url, number = (await anyio.to_thread.run_sync(process.stdout.readline)).strip(), process.pid
            client = Client(f"{url}/mcp", mode="auto")
        else:
            kept = leadhand.folder / "pid.txt"
            program = f"echo $$ > {kept}; exec {shlex.join([sys.executable, '-P', '-m', 'leadhand', *command])}"
            server = StdioServerParameters(command="sh", args=["-c", program], env=dict(os.environ))
            errors = stack.enter_context((leadhand.folder / "log.txt").open("w"))
            client = await stack.enter_async_context(Client(stdio_client(server, errors), mode=transport))
            number = int(kept.read_text())
        yield client if transport != "http" else await stack.enter_async_context(client), number


@pytest.mark.parametrize("transport", ["auto", "legacy", "http"])
async def test_after_kill_9_the_next_server_finishes_the_run_and_repeats_nothing(leadhand: Any, transport: str) -> None:
    async with connected(leadhand, transport) as (client, number):
        asked = {"request": REQUEST, "wait_seconds": 0}
        run = (await client.call_tool("ask", asked)).structured_content
        assert run["status"] == "running", run
        await anyio.to_thread.run_sync(leadhand.wait, lambda: leadhand.calls.total() == 3, "three calls")
        listing = anyio.to_thread.run_sync
        await listing(leadhand.wait, lambda: leadhand.listing()["completed"] == 2, "Paris and London")
        os.kill(number, signal.SIGKILL)

    leadhand.open_gate()
    async with connected(leadhand, transport) as (client, _):
        over = (await client.call_tool("run_status", {"run_id": run["run_id"]})).structured_content
    assert over["status"] == "succeeded", over
    assert all(f"{place}: 40 dB" in over["answer"] for place in ("Paris", "London", "Rome"))
    assert leadhand.calls == {"Paris": 1, "London": 1, "Rome": 2}


MESSAGES: list[dict[str, Any]] = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {"request": "Measure Zürich"}}},
]


@pytest.mark.parametrize("end", ["eof", "signal"])
def test_stdout_carries_only_the_protocol_until_the_client_leaves(leadhand: Any, end: str) -> None:
    process = leadhand.start("mcp", "--offline", "--tools", leadhand.tools, stdin=subprocess.PIPE)
    for message in MESSAGES:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    replies = [json.loads(process.stdout.readline()) for _ in range(2)]
    if end == "signal":
        process.send_signal(signal.SIGINT)
        rest, err = process.stdout.read(), process.stderr.read()
    else:
        rest, err = process.communicate(timeout=90)

    assert process.wait(90) == (130 if end == "signal" else 0)
    assert [each["id"] for each in replies] == [1, 2]
    assert "Zürich: 40 dB" in replies[1]["result"]["structuredContent"]["answer"]
    assert (rest, "this goes to stderr" in err, "Traceback" in err) == ("", True, False)


def test_a_stdin_that_is_no_pipe_is_refused(leadhand: Any) -> None:
    with open(os.devnull) as nothing:
        done = subprocess.run([sys.executable, "-P", "-m", "leadhand", "mcp", "--offline"], stdin=nothing, timeout=60)
    assert done.returncode == 2


def test_without_its_library_the_command_says_what_to_install(leadhand: Any) -> None:
    program = "import sys; sys.modules['mcp.server'] = None; from leadhand.cli.app import main; sys.exit(main())"
    result = leadhand.process("mcp", "--offline", program=("-c", program))
    assert (result.code, result.out, 'uv add "leadhand[mcp]"' in result.err) == (6, "", True), result.err
