"""A scripted model whose judge has a small context window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from leadhand.ports.models import ModelProfile
from leadhand.testing.scripted_model import ScriptedModel

WINDOW = 7_000


def sampled(names: Iterable[str], every: int = 5) -> list[Any]:
    """Return parameters of a test, of which all but some are slow."""
    slow = pytest.mark.slow
    return [pytest.param(name, marks=() if n % every == 0 else slow) for n, name in enumerate(names)]


class Small(ScriptedModel):
    """The model named ``small`` has a window of 7,000 tokens; others have a large one."""

    def profile(self, model: str) -> ModelProfile:
        return super().profile(model).evolve(window=WINDOW if model == "small" else 1_000_000)
