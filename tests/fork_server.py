"""Fork programs on request from a process that has imported Leadhand: see processes.py.

Its stdin is a socket. Each request is one message with three descriptors. The answers are the program's id, then a
byte once it is adopted.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import socket
import sys
import tempfile
import termios
import threading
import time
import types
from typing import Any

import leadhand.cli.commands
import leadhand.cli.terminal
from leadhand.cli.app import main as command_line
from leadhand.server.app import routed

IMPORTED = (
    "aiohttp",
    "anyio._backends._asyncio",
    "leadhand.app.runtime.cluster_host",
    "leadhand.server.serving",
    "leadhand.stores.postgres.database",
    "leadhand.testing.scripted_model",
    "pytest",
    "uvicorn.lifespan.on",
)


def _python_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


IMPORTED_FROM = _python_path()


def become(asked: dict[str, Any], descriptors: list[int]) -> None:
    """Take on the environment, the folder, the descriptors and the session that are asked for."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    os.chdir(asked["folder"])
    if asked["session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if asked["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115 (the program's own stream)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115 (the program's own stream)
    sys.stderr = sys.__stderr__ = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115 (the program's own stream)


def carry_out(arguments: list[str]) -> None:
    """Do as ``python ARGUMENTS`` does."""
    alone = arguments[0] == "-P"
    way, *rest = arguments[alone:]
    sys.path[:] = [*_python_path(), *(path for path in sys.path if path not in IMPORTED_FROM)]
    if way == "-m":
        sys.path[:0] = [] if alone else [os.getcwd()]
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif way == "-c":
        sys.path[:0] = [] if alone else [""]
        sys.argv = ["-c", *rest[1:]]
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    else:
        sys.path[:0] = [] if alone else [os.path.dirname(os.path.realpath(way))]
        sys.argv = [way, *rest]
        runpy.run_path(way, run_name="__main__")


def keep(modules: dict[str, types.ModuleType]) -> None:
    """Keep modules of the server when the program ends.

    An interpreter that ends takes its modules apart. The memory of these is shared with the server, so the system would
    copy nearly all of it first, which takes longer than most programs. What the program made itself is taken apart.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))  # nobody lets go of it
    for name in modules:
        sys.modules.pop(name, None)


def end(status: int) -> None:
    """End the program as an interpreter does, but keep the memory that it shares with the server.

    An interpreter takes its types and caches apart last. That touches thousands of pages, and the system copies each
    of them first. What can be observed comes before: threads end, exit functions run, the program's own objects are
    deleted, and its output is written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # keep() is the last of them
    try:
        flush()
        for name in sys.modules.keys() - {"builtins", "sys"}:
            del sys.modules[name]
        gc.collect()
        flush()
    except (OSError, ValueError):
        sys.exit(status)  # the interpreter reports output that it cannot write
    os._exit(status)


def flush() -> None:
    """Write what the program's streams still hold."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def served(channel: socket.socket) -> list[str] | None:
    """Fork programs until nobody is there to ask. Returns the arguments in a program, and None in the server."""
    while True:
        message, descriptors, *_ = socket.recv_fds(channel, 1_000_000, 3)
        if not message:
            return None
        asked = json.loads(message)
        between = os.fork()
        if not between:
            program = os.fork()
            if program:
                channel.send(str(program).encode())
                os._exit(0)
            channel.close()
            shared = {name: each for name, each in sys.modules.items() if name not in ("__main__", "builtins", "sys")}
            atexit.register(keep, shared)  # as the first, so it is called last
            become(asked, descriptors)
            return asked["arguments"]
        os.waitpid(between, 0)
        channel.send(b".")
        for descriptor in descriptors:
            os.close(descriptor)


def main() -> list[str] | None:
    for package in (leadhand.cli.commands, leadhand.cli.terminal):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in IMPORTED:
        importlib.import_module(name)
    routes = routed().routes
    with contextlib.suppress(ImportError):  # FastAPI analyses them once; older releases do when they are declared
        from fastapi.routing import iter_route_contexts

        list(iter_route_contexts(routes))
    with tempfile.TemporaryDirectory() as home, contextlib.redirect_stderr(io.StringIO()):
        command_line(["run", "--offline", "--project", "none", "--home", home, "weather in Paris"])
    gc.collect()
    gc.freeze()
    return served(socket.socket(fileno=os.dup(0)))


if __name__ == "__main__" and (arguments := main()):
    status = 0
    try:
        carry_out(arguments)
    except SystemExit as left:
        if not isinstance(left.code, int | None):
            raise
        status = left.code or 0
    end(status & 0xFF)
