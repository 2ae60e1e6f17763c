"""While runs are driven, the garbage collector of the process looks through its objects less often."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from leadhand.app.runtime.clock import THRESHOLDS, rare_collections


@pytest.fixture(autouse=True)
def default_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_thresholds_are_restored_when_the_last_run_is_released() -> None:
    with rare_collections():
        with rare_collections():
            assert gc.get_threshold() == THRESHOLDS
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == (700, 10, 10)


def test_higher_thresholds_of_the_program_stay() -> None:
    gc.set_threshold(90_000, 10, 99)
    with rare_collections():
        assert gc.get_threshold() == (90_000, 50, 99)
    assert gc.get_threshold() == (90_000, 10, 99)


def test_a_collector_that_is_switched_off_stays_off() -> None:
    gc.set_threshold(0, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (0, 10, 10)
    assert gc.get_threshold() == (0, 10, 10)


def test_thresholds_that_the_program_sets_meanwhile_stay() -> None:
    with rare_collections():
        gc.set_threshold(1_000, 5, 5)
    assert gc.get_threshold() == (1_000, 5, 5)
