"""The commands that Leadhand prints for runs of programs."""

from __future__ import annotations

import pytest

from leadhand.app.runtime.model_selection import CUSTOM
from leadhand.cli.options import StoreFlags
from leadhand.cli.terminal.messages import resume_command
from leadhand.core.run import ModelChoice, RunDefinition

PLAIN = RunDefinition(request="Go", flow="solo", models=ModelChoice(default="offline"))


@pytest.mark.parametrize(
    ("definition", "shown"),
    [
        (PLAIN, "leadhand runs resume run_1"),
        (PLAIN.evolve(own_deps=True), "lead.resume('run_1', deps=…) in its program"),
        (PLAIN.evolve(models=ModelChoice(default=CUSTOM)), "lead.resume('run_1') in its program"),
    ],
)
def test_a_run_that_only_its_program_can_continue_is_not_resumed_by_a_command(
    definition: RunDefinition, shown: str
) -> None:
    assert resume_command(StoreFlags(), "run_1", definition) == shown
