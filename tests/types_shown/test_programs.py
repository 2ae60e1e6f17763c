"""What type checkers show users of the public names."""

from __future__ import annotations

import sys
from pathlib import Path

import processes
import pytest

PROGRAM = Path(__file__).with_name("program.py")


PYRIGHT = ["basedpyright", "--level", "error", "--pythonpath", sys.executable]
MYPY = ["mypy", "--strict", "--cache-dir", "cache"]


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, MYPY], ids=["pyright", "mypy"])
def test_a_program_has_the_types_that_its_author_expects(checker: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.read_text())
    (tmp_path / "pyproject.toml").write_text('[tool.basedpyright]\ntypeCheckingMode = "standard"\n')
    found = processes.run([sys.executable, "-m", *checker, "program.py"], cwd=tmp_path, timeout=240)
    assert found.returncode == 0, found.stdout
