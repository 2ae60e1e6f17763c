"""What the documentation shows works: Python blocks run, command lines are understood, outputs are what comes out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from documents import PAGES, ROOT, Block, blocks, named

from leadhand.cli.parser import parse
from leadhand.core.errors import UsageError
from leadhand.testing.flow_contract import FlowContract

PYTHON = [pytest.param(block, id=f"{named(page)}:{block.line}") for page in PAGES for block in blocks(page, "python")]
SHELL = [
    pytest.param(block, id=f"{named(page)}:{block.line}")
    for page in PAGES
    for block in blocks(page, "shell", "console")
    if block.language == "shell" or "\n$ " in f"\n{block.text}"
]
TESTED = "uv run pytest"
FIRST = 'leadhand run --offline "'


@pytest.fixture
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home and a directory of its own, from which modules are imported, and no environment that chooses a model."""
    for name in [name for name in os.environ if name.startswith("LEADHAND_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LEADHAND_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("own_place")
@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks_run_and_print_what_the_page_shows(
    block: Block, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_files(block.page, tmp_path)
    path = tmp_path / "shown.py"  # tools look their own source up
    path.write_text(block.text, encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(block.text, str(path), "exec", dont_inherit=True), names)
    for test in shown_tests(names):
        test()
    if block.output is not None:
        assert capsys.readouterr().out.strip() == block.output.strip()


def save_files(page: Path, folder: Path) -> None:
    """Write the blocks of a page that begin with a file name, such as ``# translate.py``, to files of that name."""
    for block in blocks(page, "python"):
        found = re.match(r"# (\w+)\.py\n", block.text)
        if found:
            (folder / f"{found[1]}.py").write_text(block.text, encoding="utf-8")


def shown_tests(names: dict[str, object]) -> Iterator[Callable[[], object]]:
    """The test functions of a block, and the methods of a flow's contract; other suites need fixtures."""
    for name, value in names.items():
        if name.startswith("test_") and callable(value):
            yield value
        elif name.startswith("Test") and isinstance(value, type) and issubclass(value, FlowContract):
            yield from (getattr(value(), method) for method in dir(value) if method.startswith("test_"))


@pytest.mark.parametrize("block", SHELL)
def test_command_lines_are_understood(block: Block) -> None:
    for command in commands(block.text if block.language == "shell" else typed(block.text)):
        match command:
            case [*_, "leadhand", "--version"]:
                pass  # answered before anything is parsed
            case ["uv", "run", "leadhand", *arguments] | ["leadhand", *arguments]:
                try:
                    assert parse(arguments)
                except UsageError as error:
                    pytest.fail(f"{shlex.join(command)}: {error}")
            case ["uv", "run", script, *_] if "/" in script:
                assert (ROOT / script).exists()
            case _:
                pass


def typed(text: str) -> str:
    """What somebody types in a terminal: the lines with a prompt, and those that continue them."""
    lines = text.replace("\\\n", " ").splitlines()
    return "\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a few lines of shell, without steps, redirections and background marks."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        command: list[str] = []
        redirected = False
        for word in lexer:
            if set(word) <= set("&|;"):
                yield from [command] if command else []
                command = []
            elif set(word) <= set("<>"):
                redirected = True
            elif redirected:
                redirected = False
            elif command or not re.fullmatch(r"\w+=.*", word):
                command.append(word)
        yield from [command] if command else []


def test_the_readme_names_its_two_commands_in_so_many_words() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        "pip install uv && uv run --no-dev leadhand run --offline \"What's the weather in Paris tomorrow, and how do I "
        'get from the Louvre to Orly airport?"\n'
    ) in text
    assert f"\n{TESTED}\n" in text
    assert f"\n{TESTED} " in (ROOT / ".ci" / "run").read_text(encoding="utf-8"), "CI runs the same command"


def test_the_readme_shows_what_its_first_command_prints(tmp_path: Path) -> None:
    """But for the weather, which is that of the day."""
    block = next(block for block in blocks(ROOT / "README.md", "shell") if FIRST in block.text)
    assert block.output is not None
    words = next(command for command in commands(block.text) if "leadhand" in command)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}
    ran = subprocess.run(
        [sys.executable, "-m", *words[words.index("leadhand") :]],
        env={**environment, "LEADHAND_HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=90,
        check=True,
    )
    printed, shown = ran.stdout.strip().splitlines(), block.output.strip().splitlines()
    assert printed[1:] == shown[1:]
    assert printed[0].split("France, ")[0] == shown[0].split("France, ")[0]


def test_the_pictures_fetch_nothing() -> None:
    pictures = list((ROOT / "docs" / "pictures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        assert not re.search(r"url\(['\"]?https?:|@import|<image|<script", text), picture.name
