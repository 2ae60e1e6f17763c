"""The public benchmarks: their samples, and the tables in the results. What they measure runs in CI by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.public import __main__ as public
from benchmarks.public.measuring import Measured, Sample


@pytest.mark.parametrize(
    ("sample", "chosen"),
    [
        (Sample(), [*range(100)]),
        (Sample(4), [12, 37, 62, 87]),
        (Sample(200), [*range(100)]),
        (Sample(None, "9"), [9, *range(19, 90, 10), *range(90, 100)]),
    ],
)
def test_a_sample_is_spread_evenly_and_the_same_every_time(sample: Sample, chosen: list[int]):
    assert sample.of(range(100), name_of=str) == chosen


def test_the_results_have_a_place_for_each_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copy = tmp_path / "results.md"
    copy.write_text(public.RESULTS.read_text())
    monkeypatch.setattr(public, "RESULTS", copy)
    table = Measured([("suite", "tasks"), ("all", 1200)], []).markdown()
    for name in public.NAMES:
        public.write(name, table)

    assert copy.read_text().count("| suite | tasks |\n| --- | ---: |\n| all | 1,200 |") == len(public.NAMES)
