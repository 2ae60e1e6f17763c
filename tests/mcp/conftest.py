"""MCP servers of the protocol's authors, from their packages."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from processes import started

NODE = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")
PYTHON = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="session")
def node() -> Path:
    """The programs of the servers for Node.js (the protocol before July 2026), installed once for all tests."""
    place = Path.home() / ".cache" / "leadhand-tests" / "-".join(each.rpartition("/")[2] for each in NODE)
    assert shutil.which("npm"), "these tests need Node.js, with npm and npx"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--prefix", place, *NODE], check=True)
            (place / "done").touch()
    return place / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def python() -> Callable[..., list[str]]:
    """The commands of programs beside the servers for Python (the protocol from July 2026 on)."""
    assert shutil.which("uvx"), "these tests need uvx, which comes with uv"
    return lambda *words: ["uvx", *(word for each in PYTHON for word in ("--with", each)), *words]


@pytest.fixture
def leadhand_process() -> Callable[..., AbstractAsyncContextManager[Process]]:
    """Start a process that runs a request, with a server in a folder that looks until its gate is open."""

    def begun(folder: Path, *words: str) -> AbstractAsyncContextManager[Process]:
        return started(sys.executable, str(Path(__file__).with_name("looking.py")), str(folder), *words)

    return begun
