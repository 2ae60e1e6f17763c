"""The texts of the command line, kept in ``golden/``. No other test of this door pins a sentence of the product."""

from __future__ import annotations

import getpass
import re
import shlex
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import groupby
from pathlib import Path

import pytest
from cli.conftest import CommandLine, Result
from cli.power import Power
from cli.test_cli_control import ASSIGNED_FIRST, DECISIONS, IMPOSSIBLE, WAITS, driven, steps
from cli.test_cli_damage import damage
from cli.test_cli_errors import BAD
from cli.test_cli_hooks import HOOKS
from cli.test_cli_questions import NOON, question
from cli.test_cli_terminal import begun, drawn, failing, lanes_of, thinking
from golden import check_golden, joined, normalized

from leadhand.cli.terminal import approval_card, prompt
from leadhand.core import events as ev
from leadhand.core.run import RunStatus

GOLDEN = Path(__file__).parent / "golden"
CITIES = "Measure the noise in Lyon and in Oslo"
PAY = "Pay 30 to Bob and pay 20 to Ann"


class Transcript:
    """Commands in one home and what they write."""

    def __init__(self, leadhand: CommandLine) -> None:
        self._leadhand = leadhand
        self.given: list[tuple[str, Result]] = []

    def __call__(self, *arguments: str) -> Result:
        result = self._leadhand(*arguments)
        self.given.append((f"$ leadhand {shlex.join(arguments)}", result))
        return result

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each command, and what it wrote to stdout and stderr. The answer of research depends on our documentation."""
        for line, result in self.given:
            out = "ANSWER" if line.startswith(("$ leadhand research", "$ leadhand report")) else result.out
            code = f"exit code {result.code}" if result.code else ""
            yield line, "\n".join(filter(None, (out.rstrip(), in_order(result.err.rstrip()), code)))

    def check(self, name: str, texts: Iterable[tuple[str, str]]) -> None:
        places = {
            r"(?<=\S)   +": "  ",  # the width of a column depends on what is in it
            re.escape(str(self._leadhand.folder)): "FOLDER",
            r"(?<=ok  python  ).*|(?<=ok  leadhand  ).*|(?<=opens, schema ).*": "…",
            r"\blh_[A-Za-z0-9_-]{43}\b": "KEY",
            r"\blh_[A-Za-z0-9_-]{6}…": "KEY…",
            r"\b[0-9a-f]{8,12}\b": "ID",
            r"[\w.-]+-\d+-ID\b": "HOST",
            rf"\bby {getpass.getuser()}\b": "by USER",
            r"expires in [^,]+": "expires in DURATION",
            r"\b\d+ (h|min) \d+ (min|s)\b": "DURATION",
            r"[\d,]+(\.\d+)? ([KMG]i?B|bytes|events?|payloads?)\b": r"N \2",
        }
        check_golden(GOLDEN / name, normalized(joined(texts), places))


def shape(text: str) -> str:
    """What is left of an error without its data: errors of one shape are in the golden file once."""
    return re.sub(r"'[^']*'|\S*[\d_:/=]\S*|--\S+", "", text)


def in_order(text: str) -> str:
    """Sorts the lines of subtasks that end one after the other: in a resumed run they race."""
    ends = re.compile(r" *(Completed|Failed) +wo-")
    lines = groupby(text.splitlines(), key=lambda line: bool(ends.match(line)))
    return "\n".join(line for ended, group in lines for line in (sorted(group) if ended else group))


@pytest.fixture
def say(leadhand: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    monkeypatch.chdir(leadhand.folder)
    return Transcript(leadhand)


def test_errors_have_these_texts(
    leadhand: CommandLine, power: Power, say: Transcript, monkeypatch: pytest.MonkeyPatch, similar_ids: None
) -> None:
    for _, line, *_ in BAD:
        say(*shlex.split(line))
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")
    (leadhand.folder / "guards.py").write_text(HOOKS)
    (leadhand.folder / "schema.json").write_text("[]")
    for line in (
        "run --hooks guards.py:nope x",
        "run --hooks guards.py:AskAbove x",
        "run --output-schema schema.json x",
        "run --model openai_compatible:m --budget 1 x",
        "report x --offline --stage writer",
        "report x --offline --stage writter.model=x",
        "report x --offline --stage researcher.modle=x",
        "report x --offline --stage writer.max-turns=many",
        "report x --offline --stage reviewer.model=openai:gpt-5",
        "report x --offline --max-revisions -1",
    ):
        say(*shlex.split(line))
    assert leadhand("run", "--offline", "--tools", power.tools, CITIES).code == 3
    partial = leadhand.listing()["run_id"]
    for line, *_ in (*IMPOSSIBLE, ("runs retry RUN",), ("runs show RUN --seq 999",), ("runs show RUN --call x",)):
        say(*shlex.split(line.replace("RUN", partial)))
    assert leadhand("run", "--offline", "--tools", power.tools, PAY).code == 4
    waiting, asked = leadhand.listing()["run_id"], leadhand("approvals", "list", "--json").json[0]["approval_id"]
    for line in (
        "run --continue RUN x",
        "runs delete RUN",
        "runs skip RUN --subtask wo-001.9",
        "approvals settle ID --happened",
        "approvals approve ID --args [1]",
        "approvals approve ID --args '{}'",
    ):
        say(*shlex.split(line.replace("RUN", waiting).replace("ID", asked)))
    say("runs", "show", "abc")
    say("runs", "resume", partial)
    assert leadhand("runs", "cancel", waiting).code == 0
    for command in ("resume", "pause", "retry"):
        say("runs", command, waiting)
    running, driving = driven(leadhand, power)
    say("runs", "resume", running, "--tools", power.tools)
    say("runs", "skip", running, "--subtask", "wo-001.0")
    leadhand.open_gate()
    driving.communicate(timeout=90)
    damage(leadhand.home, running, 3)
    say("runs", "show", running)
    texts: dict[str, dict[str, str]] = {}
    for line, result in say.given:
        texts.setdefault(result.error.code, {}).setdefault(shape(result.err), f"{line}\n{result.err}")
    say.check("errors.txt", ((code, "".join(each.values())) for code, each in texts.items()))


def test_commands_write_these_texts(
    leadhand: CommandLine, power: Power, say: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_CONCURRENCY", "1")  # what is done at once ends in any order on a busy machine
    tools = ("--tools", power.tools)
    for line in ("runs list", "approvals list", "hosts list", "keys list", "tools list", "doctor"):
        say(*line.split())
    say("tools", "show", "pay_tool", *tools)
    say("tools", "call", "measure_tool", "place=Lyon", *tools)
    say("tools", "call", "measure_tool", "place=Oslo", *tools)

    say("run", "--offline", "--max-workers", "1", *tools, CITIES)  # one after the other: in this order
    run_id = leadhand.listing()["run_id"]
    for flags in ([], ["--full"]):
        say("runs", "show", run_id, *flags)
    say("runs", "watch", run_id)
    say("runs", "retry", run_id, *tools)
    say("runs", "supply", run_id, *tools, "--subtask", "wo-001.1", "--summary", "35 dB")
    say("runs", "fork", run_id, "--at", "2", *tools)
    say("run", "--offline", *tools, "--continue", run_id, "--max-requests", "1", "Measure the noise in Lyon")
    say("runs", "export", run_id, "--md")
    say("run", "--offline", *tools, "--approve", "never", "Pay 30 to Bob")
    say("run", "--offline", "Book me a table")

    asking = ("run", "--offline", *tools, "--max-workers", "1", "--approval-timeout", "3600", PAY)
    waiting = say(*asking).command("runs resume")
    first, second = (asked["approval_id"] for asked in leadhand("approvals", "list", "--json").json)
    for line in (
        "approvals list",
        f"approvals approve {first}",
        f"approvals deny {second} --reason 'not today'",
        f"runs show {waiting[2]}",
        "runs list",
        "runs list --limit 1",
        "runs list --tag team=ops",
    ):
        say(*shlex.split(line))
    say(*waiting)
    monkeypatch.delenv("LEADHAND_CONCURRENCY")
    running, driving = driven(leadhand, power)
    say("hosts", "list")
    say("runs", "supply", running, "--subtask", "wo-001.1", "--summary", "30 dB, by ear")
    say("runs", "pause", running)
    driving.communicate(timeout=90)
    say("runs", "watch", running)
    leadhand.open_gate()
    say("runs", "resume", running, *tools)
    say("run", "--offline", "--plan-only", *tools, CITIES)
    say("run", "--offline", "--approve-plan", *tools, CITIES)
    say("approvals", "list")
    say("runs", "cancel", leadhand.listing()["run_id"])
    say("research", "--offline", "What is a fork?")
    say("research", "--offline", "--max-turns", "1", "What is a fork?")
    say("report", "--offline", "--max-workers", "1", "Heat pumps in old houses")
    for line in (
        f"runs delete {run_id}",
        "runs prune --keep-runs 2 --dry-run",
        "runs prune --keep-runs 2",
        "backup copy.db",
        "keys create Ann --budget 0.5 --max-runs 4",
        "keys list",
    ):
        say(*shlex.split(line))
    key_id = leadhand("keys", "list", "--json").json[0]["key_id"]
    say("keys", "revoke", key_id)
    say("keys", "revoke", key_id)
    say.check("commands.txt", say.texts())


def test_projects_write_these_texts(leadhand: CommandLine, say: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    say("init", "support")
    say("init", "support")
    monkeypatch.chdir("support")
    say("workers", "list")
    made = Path("generated/run_1/poet.worker")
    made.parent.mkdir(parents=True)
    made.write_text("---\nname: poet\ndescription: Writes.\n---\nWrite.\n")
    for flags in ([], ["--yes"], []):
        say("workers", "promote", "poet", *flags)
    say("workers", "promote", "poet", "--run", "nope")
    made.with_name("painter.worker").write_text("---\nname: painter\ntool: []\n---\nPaint.\n")
    say.check("projects.txt", say.texts())


def test_progress_and_questions_have_these_texts() -> None:
    hour = question(expires_at=NOON + timedelta(hours=1), args={}, asked_for="tell_ann")
    long = question(args={"body": "x" * 9_000}, hook="limits:AskAbove", hook_reason="more than 10")
    away = ev.NoteEmitted(attempt="plan/a1", message="waiting up to 300 s for m", waits_for="m", waits_s=300.0)
    asks = [ASSIGNED_FIRST, *DECISIONS[1][:1], ev.RunStatusSet(status=RunStatus.WAITING, reason="1 waiting")]
    many = [event for number in range(20) for event in begun(number)]
    texts: list[tuple[str, Iterable[str]]] = [
        *((events[-1].type, steps(ASSIGNED_FIRST, *events)[-1:]) for events in DECISIONS),
        ("what a worker waits for", steps(*WAITS)),
        ("what a run waits for", steps(*asks)),
        (
            "another process drives it",
            steps(*WAITS[:2], ev.RunClaimed(owner="vm-1-abc"), ev.RunStatusSet(status=RunStatus.RUNNING)),
        ),
        ("a model server is away", steps(away, away.evolve(message="m answers again", waits_s=None))),
        ("lanes", drawn(lanes_of(*many, *failing(19), subtasks=30)).splitlines()),
        ("the lane of a model server that is away", drawn(lanes_of(*thinking("plan"), away, subtasks=1)).splitlines()),
        ("a call", approval_card.card(hour, NOON + timedelta(minutes=2), width=80)),
        ("a long call that a hook asks about", approval_card.card(long, NOON, width=60)[-8:]),
        *((f"question: {kind}", [approval_card.question(question(kind=kind).approval)]) for kind in ("call", "effect")),
        ("prompts", [prompt.ALLOW_CALL, prompt.ALLOW_PLAN, prompt.WENT_THROUGH]),
    ]
    check_golden(GOLDEN / "progress.txt", joined((name, "\n".join(lines)) for name, lines in texts))
