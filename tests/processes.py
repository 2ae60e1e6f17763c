"""Start Python programs as real processes without the cost of their imports.

A short command spends most of its time on imports. ``Process`` is ``subprocess.Popen``, but a Python program is forked
from a process that has imported Leadhand already (``fork_server.py``). It is a child of the tests as any other: it has
its own descriptors, environment, session and terminal, and its own death. Where that is not possible, or the program
needs an interpreter of other settings, a new interpreter starts.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import fcntl
import inspect
import json
import os
import pty
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from subprocess import Popen
from typing import Any
from unittest import mock

import pexpect
from ptyprocess import PtyProcess

PATIENCE_S = 90.0
"""Longer than a program takes for anything, also on a busy machine."""
_CHILD_SUBREAPER = 36
_ENVIRONMENT = dict(os.environ)
"""Of the server: what the tests were started with."""
_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_")
"""The beginnings of the names of variables that an interpreter reads when it starts."""


def start(
    command: Sequence[str],
    environment: Mapping[str, str] | None,
    descriptors: Sequence[int],
    *,
    folder: str | None = None,
    session: bool = False,
    terminal: bool = False,
) -> int | None:
    """Fork a program with these as its stdin, stdout and stderr, and return its id; None if it cannot be forked.

    With ``session`` it leads a session of its own, with ``terminal`` its stdin is the terminal of that session, too.
    """
    environment = dict(os.environ if environment is None else environment)
    settings = {name for name in {*environment, *_ENVIRONMENT} if name.startswith(_OF_THE_INTERPRETER)}
    changed = [name for name in settings - {"PYTHONPATH"} if environment.get(name) != _ENVIRONMENT.get(name)]
    if sys.platform != "linux" or command[0] != sys.executable or changed:
        return None
    asked = {
        "arguments": list(command[1:]),
        "environment": environment,
        "folder": os.path.abspath(folder or "."),
        "session": session or terminal,
        "terminal": terminal,
    }
    server = _server()
    prctl = ctypes.CDLL(None).prctl
    # The server's child ends after it has forked the program, which becomes a child of the nearest subreaper: of ours.
    prctl(_CHILD_SUBREAPER, 1)
    try:
        socket.send_fds(server, [json.dumps(asked).encode()], descriptors)
        process_id = int(server.recv(20))
        server.recv(1)
    finally:
        prctl(_CHILD_SUBREAPER, 0)
    return process_id


@cache
def _server() -> socket.socket:
    """Start the server, which ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        program = str(Path(__file__).with_name("fork_server.py"))
        process = Popen([sys.executable, "-P", program], stdin=its, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class Process(Popen[Any]):
    """``subprocess.Popen`` that forks Python programs."""

    def _execute_child(self, *given: Any) -> None:
        """Start the program; called by ``Popen`` once it has opened the pipes."""
        call = inspect.signature(Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        pipes = [(call["p2cread"], 0), (call["c2pwrite"], 1), (call["errwrite"], 2)]
        process_id = start(
            call["args"],
            call["env"],
            [ours if pipe == -1 else pipe for pipe, ours in pipes],
            folder=call["cwd"],
            session=call["start_new_session"],
        )
        if process_id is None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self.pid = process_id
        self._child_created = True
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(call[name] for name in names))  # type: ignore[attr-defined]


def run(command: Sequence[str], *, timeout: float = 90, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as ``subprocess.run`` does, and return what it wrote."""
    with Process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


async def start_async(*command: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a program as ``asyncio.create_subprocess_exec`` does."""
    with mock.patch("subprocess.Popen", Process):  # asyncio takes no other class
        return await asyncio.create_subprocess_exec(*command, **options)


class Program:
    """A program that runs, and what it says, a line at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self) -> str:
        """Return its next line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        assert line, f"it ended with {await self.process.wait()}: {await self.complaint()}"
        return line.decode().strip()

    async def tell(self, line: str = "") -> None:
        """Answer its ``input()``."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def kill(self) -> None:
        """As ``kill -9`` does."""
        self.process.kill()
        await self.process.wait()

    async def rest(self) -> Any:
        """Return its exit code and what it still has to say, once it has ended."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            said = (await self.process.stdout.read()).decode()
            return await self.process.wait(), said

    async def complaint(self) -> str:
        """Return what it has written to stderr, if that is a pipe."""
        return (await self.process.stderr.read()).decode() if self.process.stderr is not None else ""


@asynccontextmanager
async def started(*command: str, **options: Any) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Start a program with pipes, and kill it at the end of the block, if it is still there."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    process = await start_async(*command, **{**pipes, **options})
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class OnTerminal(pexpect.spawn):
    """``pexpect.spawn`` that forks Python programs."""

    def _spawnpty(self, args: list[str], *, env: Any = None, dimensions: Any = (24, 80), **options: Any) -> PtyProcess:
        master, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", *dimensions, 0, 0))
        process_id = start([os.fsdecode(each) for each in args], env, [its, its, its], terminal=True)
        os.close(its)
        if process_id is None:
            os.close(master)
            return PtyProcess.spawn(args, env=env, dimensions=dimensions, **options)
        return PtyProcess(process_id, master)
