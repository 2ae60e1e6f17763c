"""What the command line shows beside an answer, on stderr, and the exit codes that follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.serving import SCRIPTED, serving

from leadhand.app.export.outcome import NOT_JUDGED
from leadhand.testing.scripted_model import ScriptedModel, judges, plans, reviews, says, subtask

SOUND, BOAST, LIE = "Lyon is at 40 dB.", "It is the loudest town.", "Bob got 25 euros."
UNCONFIRMED = {"verdict": "unconfirmed", "part": "the loudest town", "why": "No result compares towns."}
CONTRADICTED = {"part": "25 euros", "why": "The amount is another.", "evidence": "wo-001.1", "quote": "paid 30 to Bob"}
PLAN = plans(subtask("measure", "measure_tool", place="Lyon"), subtask("pay", "pay_tool", amount=30, to="Bob"))
REQUEST = "How loud is Lyon? And pay Bob."


def writing(*claims: str) -> ScriptedModel:
    """A model whose answer makes these claims, each in a paragraph, and whose judge has doubts."""
    text = "\n\n".join(claims)
    accepts = reviews(accept=["wo-001.0", "wo-001.1"], answer=text)
    judge = judges(UNCONFIRMED, CONTRADICTED)
    return ScriptedModel(plan=PLAN, review=accepts, work=says("paid 30 to Bob"), judge=judge, correct=says(text))


@pytest.fixture
def ran(leadhand: Any, power: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the request with a model whose answer makes these claims."""

    def run(*flags: str, claims: tuple[str, ...]) -> Any:
        given = ("run", "--model", SCRIPTED, "--tools", power.tools, "--approve", "auto", *flags, REQUEST)
        with serving(writing(*claims), monkeypatch):
            return leadhand(*given)

    return run


def test_doubts_with_their_reasons_and_what_was_done_stand_on_stderr(leadhand: Any, ran: Any) -> None:
    result = ran("--check", "judge", claims=(SOUND, BOAST, LIE))

    assert (result.code, result.out) == (3, f"{SOUND}\n\n{BOAST}\n\n{LIE}\n")
    shown = leadhand("runs", "show", leadhand.listing()["run_id"]).out
    for text in (result.err, shown):
        lines = [text.splitlines().index(line) for line in text.splitlines() if "“" in line and "”" in line]
        doubts = [text.splitlines()[line] for line in lines]
        for doubt, given in zip(doubts, (UNCONFIRMED, CONTRADICTED), strict=True):
            assert given["part"] in doubt
            assert given["why"] in doubt
        assert CONTRADICTED["quote"] in doubts[1]
        (beside,) = [line for line in text.splitlines() if line.startswith("2 calls")]
        assert "pay_tool · 30" in beside
    follow = result.command("run --continue")
    assert follow[2] == leadhand.listing()["run_id"]


@pytest.mark.parametrize("by", ["default", "flag", "project"])
def test_a_doubt_that_is_not_confirmed_twice_ends_with_0_unless_it_is_strict(
    leadhand: Any, ran: Any, by: str, tmp_path: Path
) -> None:
    project = tmp_path / "leadhand.toml"
    project.write_text("strict = true\n")
    flags = {"default": (), "flag": ("--strict",), "project": ("--project", str(project))}[by]

    result = ran("--check", "judge", "--json", *flags, claims=(SOUND, BOAST))

    assert result.code == (0 if by == "default" else 3)
    assert result.json["status"] == ("succeeded" if by == "default" else "partial")
    assert len(result.json["evidence"]["doubts"]) == 1
    assert str(UNCONFIRMED["why"]) in result.err


@pytest.mark.parametrize(("by", "calls"), [("default", 3), ("flag", 5), ("project", 5), ("flag over project", 3)])
def test_a_model_writes_what_a_tool_returned_only_if_the_run_or_the_project_says_so(
    ran: Any, by: str, calls: int, tmp_path: Path
) -> None:
    project = tmp_path / "leadhand.toml"
    project.write_text('worker_calls = "always"\n')
    flags = {"default": (), "flag": ("--worker-calls", "always"), "project": ("--project", str(project))}
    flags["flag over project"] = (*flags["project"], "--worker-calls", "auto")

    result = ran("--check", "judge", "--json", *flags[by], claims=(SOUND,))

    assert result.json["usage"]["requests"] == calls


@pytest.mark.parametrize("by", ["flag", "environment", "project"])
@pytest.mark.parametrize("check", ["exact", "off"])
def test_without_a_judge_an_answer_is_not_judged_and_stderr_says_so(
    leadhand: Any, ran: Any, check: str, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEADHAND_CHECK")
    project = tmp_path / "leadhand.toml"
    project.write_text(f'check = "{check}"\n')
    if by == "environment":
        monkeypatch.setenv("LEADHAND_CHECK", check)
    flags = {"flag": ("--check", check), "environment": (), "project": ("--project", str(project))}[by]

    result = ran("--json", *flags, claims=(SOUND, LIE))

    assert (result.code, result.json["evidence"]["judged_by"]) == (0, None)
    assert result.json["evidence"]["not_checked"] == 2
    assert NOT_JUDGED in result.err


def test_values_that_name_no_check_are_refused(leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ("run", "--offline", "Weather in Paris?")
    leadhand(*run, "--check", "sometimes").refused("--check", "sometimes", "'judge', 'exact', 'off'")
    leadhand(*run, "--worker-calls", "never").refused("--worker-calls", "never", "'auto', 'always'")
    leadhand(*run, "--check", "judge").refused("--review-model", "--check exact")
    monkeypatch.setenv("LEADHAND_CHECK", "sometimes")
    leadhand(*run).refused("LEADHAND_CHECK", "sometimes")
    monkeypatch.delenv("LEADHAND_CHECK")
    project = tmp_path / "leadhand.toml"
    for line in ('check = "sometimes"', 'strict = "yes"', 'worker_calls = "never"'):
        project.write_text(line)
        leadhand(*run, "--project", str(project)).refused(f"{project}:1", line.split()[0], code="configuration")
    assert leadhand("runs", "list", "--json").json == []


def test_a_failed_run_with_one_gap_names_its_cause_once_at_the_end(leadhand: Any, power: Any) -> None:
    result = leadhand("run", "--offline", "--tools", power.tools, "Measure the noise in Oslo")
    document = leadhand("runs", "show", leadhand.listing()["run_id"], "--json").json

    assert (result.code, document["status"], len(document["gaps"])) == (1, "failed", 1)
    assert result.err.splitlines().count(document["outcome"]["causes"][0]) == 1
    assert [line for line in result.err.splitlines() if document["gaps"][0]["reason"] in line][1:] == [
        document["outcome"]["causes"][0]
    ], "once when it happens, and once at the end"
    assert result.command("runs retry")[2] == document["run_id"]


def test_what_a_limit_ended_is_continued_with_the_limits_that_the_outcome_proposes(leadhand: Any, power: Any) -> None:
    asked = ("run", "--offline", "--tools", power.tools, "--max-requests", "1", "Measure the noise in Lyon")
    result = leadhand(*asked)
    document = leadhand("runs", "show", leadhand.listing()["run_id"], "--json").json

    assert result.code == 5
    first = document["outcome"]["actions"][0]
    assert (first["action"], first["primary"], first["args"]) == ("resume", True, document["proposed_limits"])
    command = result.command("runs resume")
    assert command[-2:] == ["--max-requests", f"{first['args']['max_requests']:g}"]
    assert leadhand(*command).code == 0
