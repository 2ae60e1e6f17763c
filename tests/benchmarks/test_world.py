"""The benchmarks of the engine run: the job that most of them share, and the log that one writes by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from leadhand.core.run import RunStatus
from leadhand.engine import loading
from leadhand.stores.opening import open_store


@pytest.fixture
def _beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.mark.usefixtures("_beside")
async def test_the_shared_job_succeeds(tmp_path: Path):
    from world import carry_out  # pyright: ignore[reportMissingImports]

    store = await open_store(str(tmp_path / "leadhand.db"))
    state = await carry_out(store, 5, 0.0)
    await store.aclose()

    assert state.status is RunStatus.SUCCEEDED


@pytest.mark.usefixtures("_beside")
async def test_the_long_log_is_that_of_a_run_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import long_logs  # pyright: ignore[reportMissingImports]

    module: Any = sys.modules["long_logs"]
    monkeypatch.setattr(module, "COUNT", 50)
    await long_logs.write(tmp_path)

    store = await open_store(str(tmp_path / "leadhand.db"))
    state = await loading.load(store, long_logs.RUN)
    await store.aclose()

    assert len(state.live) == long_logs.LEFT
    assert sum(step.ok for step in state.steps.values()) == 50 - long_logs.LEFT
