"""Advice on strange input: it says what was given, and what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_an_empty_worker_is_named(leadhand: Any) -> None:
    refused = leadhand("run", "x", "--worker", "")
    assert refused.code == 2
    assert "invalid value for --worker: it is empty" in refused.err
    assert "leadhand workers list" in refused.err


def test_a_project_cannot_be_a_file(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("hi")
    refused = leadhand("init", str(tmp_path / "f.txt"))
    assert refused.code == 2
    assert "is a file, not a directory" in refused.err


def test_a_setting_of_a_stage_that_is_not_text_is_named(leadhand: Any) -> None:
    refused = leadhand("report", "x", "--offline", "--stage", "writer.model=3")
    assert refused.code == 2
    assert "model of writer" in refused.err
    assert "3 is not text" in refused.err


def test_no_worker_of_a_run_is_told_from_no_worker_at_all(
    leadhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert leadhand("init", str(tmp_path / "project")).code == 0
    monkeypatch.chdir(tmp_path / "project")
    refused = leadhand("workers", "promote", "x", "--run", "nope")
    assert refused.code == 2
    assert "in run nope" in refused.err


def test_errors_name_no_page_of_the_repository(leadhand: Any) -> None:
    refused = leadhand("run", "x", "--project", "missing.toml")
    assert refused.code in (2, 6)
    assert "docs/" not in refused.err
    assert "leadhand init" in refused.err
