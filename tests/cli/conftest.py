"""What the command line's tests share: a home of their own, no provider's key, and tools that leave a trace.

Tests assert exit codes, error codes and data. The texts are in ``golden/``, and only ``test_cli_texts.py`` reads them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli.power import Power
from cli.terminals import Terminal, spawn
from processes import Process

from leadhand.app.runtime import runtime
from leadhand.cli import background, dispatch
from leadhand.cli.app import main
from leadhand.cli.terminal import streams
from leadhand.core.errors import LeadhandError
from leadhand.stores.opening import open_store

PROVIDERS = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GROQ", "MISTRAL", "OPENROUTER", "DEEPSEEK", "XAI", "COHERE")
BROKEN = "the microphone is broken"
"""Why measure_tool fails in Oslo."""
TOOLS = '''
"""Tools for tests: each call is a line in a file."""
import os
import time

from leadhand import FailureClass, ToolError, tool


def trace(what: str) -> None:
    with open(os.environ["CALLS"], "a") as file:
        file.write(what + "\\\\n")


@tool(timeout=60)
async def measure_tool(place: str) -> str:
    """Measure the noise at a place.

    Args:
        place: where to measure
    """
    import asyncio

    trace(place)
    print(f"this goes to stderr, not between the lines of an answer: {place}")
    if place == "Rome" and not os.path.exists(os.environ["GATE"]):
        while not os.path.exists(os.environ["GATE"]):
            await asyncio.sleep(0.02)
    if place == "Oslo":
        raise ToolError("BROKEN", type="broken", class_=FailureClass.UNAVAILABLE)
    return f"{place}: 40 dB \\\\x1b[31m"


@tool(effect="once")
def pay_tool(amount: float, to: str) -> str:
    """Pay an amount of money to somebody."""
    trace(f"paid {to}")
    return f"paid {amount:g} to {to}"
'''.replace("\\\\", "\\").replace("BROKEN", BROKEN)

SLOW = '''
"""A tool whose end can be missed."""
import os
import time

from leadhand import tool


@tool(effect="once", approval="auto", timeout=60)
def pay_tool(amount: float, to: str) -> str:
    """Pay an amount of money to somebody."""
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"sent {to}\\n")
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.02)
    return f"sent {amount:g} to {to}"
'''


@dataclass
class Result:
    """What a command came to."""

    code: int
    out: str
    err: str
    ended_by: BaseException | None = None
    """The exception that ended a command in this process."""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> LeadhandError:
        """The error that ended a command in this process."""
        assert isinstance(self.ended_by, LeadhandError), f"{self.code}\n{self.out}\n{self.err}"
        return self.ended_by

    def refused(self, *named: str, code: str = "usage") -> None:
        """Assert that an error of this code ended the command, and that its two lines name these data."""
        assert (self.error.code, self.code, self.out) == (code, self.error.exit_code, "")
        assert "Traceback" not in self.err
        what, how = self.err.splitlines()[-2:]
        assert (what[:10], how[:2]) == ("leadhand: ", "  "), self.err
        assert [name for name in named if name not in f"{what}\n{how}"] == [], self.err

    def command(self, words: str) -> list[str]:
        """The arguments of the last command in the output that begins with these words, such as ``runs resume``."""
        found = re.findall(rf"\bleadhand ({words} .*)$", self.out + self.err, re.MULTILINE)
        assert found, f"{words}\n{self.out}\n{self.err}"
        return shlex.split(found[-1])


@dataclass
class CommandLine:
    """Runs commands, here or in a process of their own, in a home that nobody else has."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    tools: str
    """A file of tools: measure_tool waits in Rome until the gate is open, and fails in Oslo."""
    raised: list[BaseException | None] = field(default_factory=list)
    """The exceptions that ended commands in this process."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def calls(self) -> Counter[str]:
        """The calls that the tools saw."""
        path = self.folder / "calls.txt"
        return Counter(path.read_text().splitlines()) if path.exists() else Counter()

    def own_tools(self) -> Path:
        """A copy of the file of tools, for a test that changes it or wants it in its folder."""
        return Path(shutil.copy(self.tools, self.folder / "own_tools.py"))

    def open_gate(self) -> None:
        (self.folder / "gate").touch()

    def __call__(self, *arguments: str) -> Result:
        """Carry a command out in this process."""
        self.capsys.readouterr()
        self.raised.clear()
        code = main(arguments)
        out, err = self.capsys.readouterr()
        return Result(int(code), out, err, *self.raised)

    def start(
        self, *arguments: str, program: Sequence[str] = ("-m", "leadhand"), **options: Any
    ) -> subprocess.Popen[str]:
        """Start a command in a process of its own; it is ended after the test. ``program`` is what Python runs."""
        process = Process(
            [sys.executable, "-P", *program, *arguments],
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
        )
        self.started.append(process)
        return process

    def process(self, *arguments: str, **options: Any) -> Result:
        """Carry a command out in a process of its own."""
        given = options.pop("input", None)
        process = self.start(*arguments, stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL, **options)
        out, err = process.communicate(given, timeout=90)
        return Result(process.returncode, out, err)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a state, not for a time."""
        end = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < end, f"waited in vain: {what}"
            time.sleep(0.02)

    def listing(self) -> dict[str, Any]:
        """The newest run's line."""
        return self("runs", "list", "--json").json[0]


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing has run yet, to copy."""

    async def make(database: Path) -> None:
        await (await open_store(str(database))).aclose()

    home = tmp_path_factory.mktemp("new") / "home"
    home.mkdir(mode=0o700)
    asyncio.run(make(home / "leadhand.db"))
    return home


@pytest.fixture(scope="session")
def noise_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tools for all tests, which is imported once."""
    path = tmp_path_factory.mktemp("tools") / "noise_tools.py"
    path.write_text(TOOLS)
    return path


@pytest.fixture
def leadhand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    new_home: Path,
    noise_tools: Path,
) -> Iterator[CommandLine]:
    for name in list(os.environ):
        if name.startswith((*PROVIDERS, "LEADHAND_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("LEADHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LEADHAND_CHECK", "exact")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls.txt"))
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setattr(sys, "path", sys.path.copy())  # commands append the folders of their files
    forking = SimpleNamespace(Popen=Process, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(background, "subprocess", forking)  # without the imports of a new interpreter
    line = CommandLine(tmp_path, capsys, str(noise_tools))

    def print_error(what: str, how: str) -> None:
        line.raised.append(sys.exc_info()[1])
        streams.print_error(what, how)

    monkeypatch.setattr(dispatch, "print_error", print_error)
    shutil.copytree(new_home, line.home)
    yield line
    for name in ("own_tools", "slow_tools"):
        sys.modules.pop(name, None)
    for process in line.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    line.open_gate()
    for process in background.STARTED:  # started by commands of this process: no zombies are left
        process.wait(timeout=90)
    background.STARTED.clear()
    if list(line.home.glob("runs/*/log.txt")):  # what went to the background ends now, too
        line.wait(lambda: not [run for run in line("runs", "list", "--json").json if run["owner"]], "the background")


@pytest.fixture
def similar_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """New runs have ids that begin with abcd, abce and so on."""
    letters = iter(string.ascii_lowercase[3:])
    monkeypatch.setattr(runtime, "new_run_id", lambda: f"run_abc{next(letters)}{'x' * 22}")


@pytest.fixture
def slow_tools(tmp_path: Path) -> str:
    """A file with a tool of effect once, which does not end until the gate is open."""
    path = tmp_path / "slow_tools.py"
    path.write_text(SLOW)
    return str(path)


@pytest.fixture
def power(leadhand: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Power]:
    """A file of tools that work in Lyon and Rome, until it is said otherwise."""
    monkeypatch.setenv("WORKS", str(tmp_path / "works.txt"))
    power = Power(tmp_path / "power_tools.py", tmp_path / "works.txt")
    power.at("Lyon", "Rome")
    yield power
    sys.modules.pop("power_tools", None)


@pytest.fixture
def terminal(leadhand: CommandLine) -> Iterator[Terminal]:
    """Starts commands on a terminal of their own."""
    started: list[Any] = []

    def start(*arguments: str, columns: int = 120, **environment: str) -> Any:
        started.append(spawn(*arguments, columns=columns, **environment))
        return started[-1]

    yield start
    for child in started:
        child.close(force=True)
