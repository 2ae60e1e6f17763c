"""What is false is caught, and what is honest reaches the user: measured through the Python API, with cases as data."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from .suite import FILES, Verdict, cases, run, tables

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "false-statements.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    """All cases, carried out once for all tests of this module."""
    return asyncio.run(run(cases(*FILES), tmp_path_factory.mktemp("home")))


def failed(verdicts: list[Verdict], file: str) -> list[str]:
    return [f"{each.case.name}: {each.why}" for each in verdicts if each.case.file == file and not each.passed]


@pytest.mark.slow
def test_every_lie_that_code_can_see_is_caught(verdicts: list[Verdict]):
    assert failed(verdicts, "lies") == []


def test_no_honest_text_is_refused(verdicts: list[Verdict]):
    assert failed(verdicts, "honest") == []


def test_the_documented_shares_are_those_that_are_measured(verdicts: list[Verdict]):
    documented = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert documented.strip() == tables(verdicts).strip(), "run scripts/lies --write"


def test_every_lie_that_code_cannot_see_is_named_in_the_documentation(verdicts: list[Verdict]):
    page = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    unseen = [each for each in verdicts if each.case.file == "unseen"]
    assert [each.case.name for each in unseen if each.passed] == [], "it is caught now: move it to the lies"
    assert [each.case.kind for each in unseen if each.case.kind not in page] == []


def test_the_sets_are_as_large_as_the_documentation_says():
    assert [len(cases(file)) >= least for file, least in zip(FILES, (60, 60, 30, 30, 1), strict=True)] == [True] * 5
