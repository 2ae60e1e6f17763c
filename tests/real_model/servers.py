"""The process of a model server, which can be killed and started again."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

MODEL = "llamacpp:smollm2"
PATIENCE_S = 240.0
"""No wait of a test takes so long on a machine that is not much too busy."""


class ModelServer:
    """A server of a real model in a process of its own, on the same port each time it starts."""

    def __init__(self, window: int = 4_096, slots: int = 2) -> None:
        self._how = (str(window), str(slots))
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = (sys.executable, str(Path(__file__).with_name("server.py")), str(self.port), *self._how)
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the server of the model ended"

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
