"""Flows that are functions, at the command line: their options, their bugs, and what continues once they are fixed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.conftest import CommandLine

from leadhand.cli.dispatch import Exit

SOURCE = '''
from leadhand import Worker
from leadhand.flows import flow

translator = Worker("translator", instructions="Translate `text` into `language`.")


def translated(facts, request):
    with open("asked.txt", "a") as file:
        file.write(facts["language"] + "\\n")
    return facts["language"] + " for " + facts["text"]


@flow(offline={translator: translated})
async def translate(run, languages: list[str] = ["French", "Dutch"]) -> str:
    """Translate one text."""
    found = await run.gather(run.ask(translator, text=run.request, language=each) for each in languages)
    return "; ".join(map(str, found))END
'''


@pytest.fixture
def source(leadhand: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with a flow, in the working directory."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "own_functions.py"
    sys.modules.pop("own_functions", None)


def write(source: Path, end: str = "") -> None:
    source.write_text(SOURCE.replace("END", end))
    sys.modules.pop("own_functions", None)


def asked() -> list[str]:
    return sorted(Path("asked.txt").read_text().split())


def test_a_function_runs_with_its_options(leadhand: CommandLine, source: Path) -> None:
    write(source)
    done = leadhand(
        "run", "hello", "--offline", "--flows", str(source), "--flow", "translate", "--option", "languages=['x']"
    )
    assert done.code == Exit.USAGE
    wanted = '["Italian"]'
    done = leadhand(
        "run", "hello", "--offline", "--flows", str(source), "--flow", "translate", "--option", f"languages={wanted}"
    )
    assert (done.code, done.out.splitlines()[0]) == (Exit.ANSWERED, "Italian for hello")


def test_a_bug_is_named_with_its_line_and_a_retry_continues_once_it_is_fixed(
    leadhand: CommandLine, source: Path
) -> None:
    write(source, ' + {}["missing"]')
    done = leadhand("run", "hello", "--offline", "--flows", str(source), "--flow", "translate")
    assert done.code == Exit.PARTIAL
    line = 1 + source.read_text().splitlines().index(
        next(each for each in source.read_text().splitlines() if "missing" in each)
    )
    assert f"line {line} of own_functions.py" in done.err
    assert done.command("runs retry")[2:] == [leadhand.listing()["run_id"], "--flows", str(source)]
    assert asked() == ["Dutch", "French"]
    write(source)
    done = leadhand("runs", "retry", leadhand.listing()["run_id"], "--flows", str(source))
    assert (done.code, done.out.splitlines()[0]) == (Exit.ANSWERED, "French for hello; Dutch for hello")
    assert asked() == ["Dutch", "French"]


WAITS = '''
from leadhand.flows import flow


@flow
async def pay(run) -> str:
    """Ask for a colour, then wait for a payment."""
    colour = await run.person("Which colour?", choices=["red", "blue"])
    return f"{colour}: {await run.wait_for('paid')}"
'''


def test_an_answer_is_recorded_only_where_the_flow_is_and_a_run_says_which_signal_it_waits_for(
    leadhand: CommandLine, source: Path
) -> None:
    source.write_text(WAITS)
    flows = ("--flows", str(source))
    assert leadhand("run", "hello", "--offline", *flows, "--flow", "pay").code == Exit.WAITING
    run_id = leadhand.listing()["run_id"]
    sys.modules.pop("own_functions", None)
    leadhand("answer", run_id, "1").refused("the flow pay", f"--flows {source}", code="configuration")

    answering = leadhand.start("answer", run_id, "1", *flows)
    assert answering.stderr is not None
    hint = next(line for line in answering.stderr if "leadhand signal" in line)
    assert leadhand(*shlex.split(hint.partition("leadhand ")[2]), "12").code == 0
    out, _ = answering.communicate(timeout=90)
    assert (answering.returncode, out) == (0, "red: 12\n")
